/** What a Book, Touch or Ticker calls after it changed; `createMarket` sets it once. */
export interface Changed {
  changed(): void;
}

/** For parts that are used alone (tests, replay). */
export const NO_LISTENER: Changed = { changed() {} };
