/** What a caller learns of a dead-man's switch of its own. */
import type { Clock } from "../../domain/clock.js";
import { instrumentOf } from "./order-facts.js";
import type { SwitchFacts } from "./switch-desk.js";
import { type TimedAccount, wallMsAt } from "./venue-timers.js";

/** What is known of one; times are monotonic. */
interface KnownSwitch extends Pick<TimedAccount, "atVenue" | "room"> {
  readonly id: string;
  readonly timeoutMs: number;
  readonly endsMs: number;
  readonly state: "armed" | "ending" | "firing" | "gone";
}

export function factsOf(
  clock: Clock,
  { id: switchId, room, timeoutMs, endsMs, atVenue, state }: KnownSwitch,
): SwitchFacts {
  const { cover } = atVenue;
  const bySymbol = typeof cover === "string" ? null : cover;
  return {
    switchId,
    venue: room.venue,
    state: state === "armed" ? "ARMED" : state === "ending" ? "ENDING" : "ENDED",
    timeoutMs,
    expiresAtMs: wallMsAt(clock, endsMs),
    venueArmed: bySymbol === null ? cover === "account" : bySymbol.length > 0,
    venueSymbols: bySymbol?.map((symbol) => instrumentOf(room.markets, symbol)?.symbol ?? symbol) ?? null,
  };
}
