/** What one caller of the close bench does again and again, whichever way its orders go. */
export interface Trader {
  /** Resolves when the fill is known, with the word for it; else with what was said instead. */
  trade(): Promise<string>;
  stop(): Promise<void>;
}

/** What a direct order resolves with where it was filled. */
export const TAKEN = "taken";
