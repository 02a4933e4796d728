/**
 * Figures that were measured or estimated elsewhere, with their sources. The article: "Model and partition
 * data on Azure Cosmos DB using a real-world example", its table of ten requests.
 */
import type { ReadRequest } from "./compare.generated.js";

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

/** The number of items in the article's lists. */
export const PAGE_ITEMS: Readonly<Record<ReadRequest, number>> = { Q1: 1, Q2: 1, Q3: 28, Q4: 20, Q5: 50, Q6: 100 };

/** Request units under V1, V2 and V3. */
export type Charges = Readonly<Record<AnyRequest, readonly [v1: number, v2: number, v3: number]>>;

/** The article's own charges of 2019. It has no charges of the change feed's copies. */
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
 * The estimates of `onehop compare` for the present service, with one physical partition and with the cost of
 * the projections because of a write. Source: `onehop compare
 * --format summary`.
 */
export const ESTIMATED_CHARGES: Charges = {
  Q1: [1, 1, 1],
  Q2: [7.94, 1.07, 1.07],
  Q3: [183.6, 4.75, 3.86],
  Q4: [22.77, 3.79, 3.79],
  Q5: [54.67, 4.71, 4.71],
  Q6: [697.65, 9.78, 6.87],
  C1: [11.81, 12.19 + 2.03, 12.57 + 2.03],
  C2: [10.13, 11.68, 11.68 + 31.27],
  C3: [8.17, 24.34, 24.34 + 15.43],
  C4: [7.43, 23.48, 23.48 + 15.41],
};
