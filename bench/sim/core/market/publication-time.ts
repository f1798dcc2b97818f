/**
 * The time of what a venue publishes. It only grows, also where the clock is set back by a little, as a clock that is
 * disciplined is slewed; one that was wrong by more is set right, and what it stamps then is right at once.
 */
const SET_RIGHT_MS = 5_000;

/** `earliestMs`: what the market's order asks for, by what was published before. */
export function publicationMs(nowMs: number, earliestMs: number): number {
  return earliestMs > nowMs && earliestMs - nowMs <= SET_RIGHT_MS ? earliestMs : nowMs;
}
