/** One caller of the close bench, which trades again and again, by the gateway or directly. */
export interface Trader {
  /** Resolves when the fill is known, with the word for it; otherwise with the text of the refusal. */
  trade(): Promise<string>;
  stop(): Promise<void>;
}

/** The outcome of a direct order that filled. */
export const TAKEN = "taken";
