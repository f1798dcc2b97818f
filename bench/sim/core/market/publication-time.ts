/**
 * The time that a venue stamps on what it publishes. It grows even when the clock is set back a little, as a
 * disciplined clock is slewed. After a larger correction the stamps follow the corrected clock at once.
 */
const SET_RIGHT_MS = 5_000;

/** `earliestMs`: least time that keeps the market's publications in order. */
export function publicationMs(nowMs: number, earliestMs: number): number {
  return earliestMs > nowMs && earliestMs - nowMs <= SET_RIGHT_MS ? earliestMs : nowMs;
}
