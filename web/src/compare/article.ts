/**
 * Figures that were measured or estimated elsewhere, with their sources. The article: "Model and partition data on Azure
 * Cosmos DB using a real-world example", its table of ten requests.
 */
import type { DataModel, ReadRequest } from "./compare.generated.js";

export type WriteRequest = "C1" | "C2" | "C3" | "C4";
export type AnyRequest = ReadRequest | WriteRequest;

export const READS: readonly ReadRequest[] = ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"];
export const WRITES: readonly WriteRequest[] = ["C1", "C2", "C3", "C4"];

export const TITLES: Readonly<Record<AnyRequest, string>> = {
  Q1: "A user",
  Q2: "A post",
  Q3: "A user’s posts",
  Q4: "A post’s comments",
  Q5: "A post’s likes",
  Q6: "The newest posts",
  C1: "Sign up, rename",
  C2: "Write a post",
  C3: "Comment",
  C4: "Like",
};

/** How many items the article's lists have. */
export const PAGE_ITEMS: Readonly<Record<ReadRequest, number>> = { Q1: 1, Q2: 1, Q3: 28, Q4: 20, Q5: 50, Q6: 100 };

/** Request units under V1, V2 and V3. */
export type Charges = Readonly<Record<AnyRequest, readonly [v1: number, v2: number, v3: number]>>;

/** The article's own charges of 2019. It does not say what the change feed's copies cost. */
export const ARTICLE_CHARGES: Charges = {
  C1: [5.71, 5.71, 5.71],
  Q1: [1, 1, 1],
  C2: [8.76, 8.76, 8.76],
  Q2: [19.54, 1, 1],
  Q3: [619.41, 201.54, 6.46],
  C3: [8.57, 15.27, 15.27],
  Q4: [27.72, 7.72, 7.72],
  C4: [7.05, 14.67, 14.67],
  Q5: [58.92, 8.92, 8.92],
  Q6: [2063.54, 532.33, 16.97],
};

/**
 * What `onehop compare --users 1000` estimated, 1/100 of the article's data set, with what the projections cost because of
 * a write. Source: docs/comparison.md.
 */
export const ESTIMATED_CHARGES: Charges = {
  Q1: [1, 1, 1],
  Q2: [17.63, 1.08, 1.08],
  Q3: [619.42, 202.25, 6.77],
  Q4: [27.36, 7.36, 7.36],
  Q5: [58.76, 8.76, 8.76],
  Q6: [2139.24, 532.09, 17.78],
  C1: [6.14, 7.22 + 1.1, 12.33 + 1.1],
  C2: [9.05, 11.2, 11.2 + 30.24],
  C3: [8, 16.59, 16.59 + 10.45],
  C4: [7.24, 15.83, 16.38 + 10.35],
};
