/** Scenes that need a venue with a true, small budget, or a socket of their own; trade-budgets.test.ts plays them. */
import type { StreamClient } from "../../../../gateway/stream/test/stream-client.js";
import type { Frame } from "../../../../gateway/stream/test/frame-judge.js";
import type { Ask } from "../trade-ask.js";
import { EVERYTHING } from "../trade-ask.js";
import { logLengthsOf } from "../trade-trial.js";
import { LONG_BTC, type Scene, type Stage } from "./stage.js";

/** Requests that venueone grants an address that has not traded. */
export const ADDRESS_REQUESTS = 24;
/** More entries than the venue grants, plus the one that passes over the budget. */
const ENTRIES_MAX = ADDRESS_REQUESTS + 4;

/** Sends entries far from the market until one is refused, then closes the position. */
export const budgetScene: Scene = {
  positions: { BTC: "0.4" },
  async play(stage) {
    const credentials = { venueone: stage.trader.credentials.venueone };
    const limitPrice = stage.price("venueone", "BTC", -0.02);
    const terms = { orderType: "LIMIT", limitPrice } as const;
    for (let count = 0; count < ENTRIES_MAX; count++) {
      const entry = await stage.trade({ kind: "OPEN", ...LONG_BTC, size: "0.01", terms, credentials });
      if (entry.answers.at(-1)?.success !== true) break;
    }
    await stage.trade({ kind: "CLOSE", ...LONG_BTC, size: "0.4", credentials });
  },
};

const SWITCH_MS = 5_000;

/** Sends frames of a caller to the service. */
export type Wire = (client: StreamClient, frame: Record<string, unknown>) => Promise<Frame>;

/**
 * A connection with cancel on disconnect asks for more, is refused, and is lost. What it had before must still cancel.
 * Returns what to judge, as for a switch that a call armed.
 */
export async function standingSwitch(stage: Stage, client: StreamClient, wire: Wire): Promise<Ask> {
  const { four, trader } = stage;
  const [venue, other] = ["venueone", "venuetwo"] as const;
  const logLengthsBefore = logLengthsOf(four);
  const askedAtMs = four.nowMs();
  const limitPrice = stage.price(venue, "BTC", -0.02);
  const terms = { orderType: "LIMIT", limitPrice } as const;
  const credentials = { [venue]: trader.credentials[venue] };
  await stage.trade({ kind: "OPEN", ...LONG_BTC, size: "0.01", terms, credentials });
  const armed = await wire(client, { op: "cancelOnDisconnect", timeoutMs: SWITCH_MS, credentials });
  // The venue does not know this key: the second venue refuses, whatever the first would have done.
  const block = { ...trader.credentials[other], apiSecret: `0x${"77".repeat(32)}` };
  const wider = { ...credentials, [other]: block };
  const refused = await wire(client, { op: "cancelOnDisconnect", timeoutMs: SWITCH_MS, credentials: wider });
  client.socket.terminate();
  return {
    key: `${trader.label}-switch`,
    kind: "ARM",
    trader,
    terms: { ...EVERYTHING, venues: [venue] },
    status: armed.type === "cancelOnDisconnect" && refused.type === "error" ? 200 : 0,
    code: refused.type === "error" ? refused.code : null,
    data: null,
    leakCount: trader.secrets.filter((secret) => JSON.stringify([armed, refused]).includes(secret)).length,
    askedAtMs,
    answeredAtMs: four.nowMs(),
    logLengthsBefore,
    logLengths: logLengthsOf(four),
    workingAtEnd: null,
  };
}
