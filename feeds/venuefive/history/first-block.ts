/**
 * Where the index begins by itself: at the newest safe head that two endpoints have. One alone may be wrong of its head, so
 * that counts where there is no other, or where two have not agreed for long.
 */
import type { CallOptions } from "../../../engine/ports.js";
import { type ChainAnswer, type ChainHeader, failedAnswer, type HistoryEndpoint } from "./chain-port.js";

/** Safe heads of one moment are minutes apart. One that is older than another by more is of an endpoint that lags. */
const APART_MS_MAX = 3_600_000;

interface NamedTip {
  readonly endpoint: HistoryEndpoint;
  readonly tip: ChainHeader;
}

/** `takesOne`: they have not agreed for long. */
export async function firstBlock(
  endpoints: readonly HistoryEndpoint[],
  takesOne: boolean,
  options: CallOptions,
): Promise<ChainAnswer<ChainHeader>> {
  const answers = await Promise.all(endpoints.map((endpoint) => endpoint.tip("safe", options)));
  const [only] = answers;
  if (only === undefined) return failedAnswer("VENUE_ERROR", "no endpoint of this chain");
  const named = answers.flatMap((answer, at): readonly NamedTip[] => {
    const endpoint = endpoints[at];
    return answer.kind === "value" && endpoint !== undefined ? [{ endpoint, tip: answer.value }] : [];
  });
  if (endpoints.length === 1 || named.length === 0) return only;
  const newestFirst = named.sort((left, right) => right.tip.number - left.tip.number);
  for (const { endpoint, tip } of newestFirst) {
    // Whoever has older blocks has this one too: that they agree about it says nothing.
    const isBehind = newestFirst.some((other) => other.tip.timeMs - tip.timeMs > APART_MS_MAX);
    const witnesses = takesOne ? [endpoint] : isBehind ? [] : endpoints.filter((other) => other !== endpoint);
    if (await isKnownTo(witnesses, tip, options)) return { kind: "value", value: tip };
  }
  return failedAnswer("VENUE_ERROR", "endpoints do not agree about a block to begin at");
}

/** At least one of them has it. */
async function isKnownTo(
  witnesses: readonly HistoryEndpoint[],
  { number, hash }: ChainHeader,
  options: CallOptions,
): Promise<boolean> {
  for (const witness of witnesses) {
    const answer = await witness.header(number, options);
    if (answer.kind === "value" && answer.value?.hash === hash) return true;
  }
  return false;
}
