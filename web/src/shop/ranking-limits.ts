/** The number of customers in the ranking. */
export const RANKED_CUSTOMERS = 10;
