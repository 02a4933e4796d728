/** How many customers the ranking lists. */
export const RANKED_CUSTOMERS = 10;
