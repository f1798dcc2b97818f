/** An order of ours on its way through a room that streams its account: what the streams are still to tell (streamed-reads.ts). */
import type { OrderCommand, PlaceOutcome } from "../../engine/domain/order.js";
import type { StreamedReads } from "./streamed-reads.js";

export interface StreamedAccount {
  readonly reads: StreamedReads;
  /** Something is to be told: where the streams do not, the venue is asked. */
  refreshSoon(): void;
}

/** Who is told of an order of one account. */
export interface OrderAudience {
  /** The account as it is streamed at that moment: none, one, or one for each set of credentials that watches it. */
  streamed(): readonly StreamedAccount[];
  /** An order goes out, or its answer came: reads that began before tell nothing of it. */
  note(): void;
}

/** `tellsFills`: the answer says what the order filled; else its end is only streamed. */
export async function placeTold(
  audience: OrderAudience,
  command: OrderCommand,
  clientId: string,
  tellsFills: boolean,
  send: () => Promise<PlaceOutcome>,
): Promise<PlaceOutcome> {
  const { instrument, qtyLots, side, timeInForce, trigger, type } = command;
  const rests = trigger !== undefined || (type === "LIMIT" && timeInForce !== "IOC");
  const before = audience.streamed();
  audience.note();
  for (const { reads } of before) reads.sent({ clientId, coin: instrument.nativeSymbol, side, qtyLots, rests });
  let outcome: PlaceOutcome | null = null;
  try {
    outcome = await send();
    return outcome;
  } finally {
    audience.note();
    for (const account of audience.streamed()) {
      const { reads } = account;
      // Streamed since the order went out: it was not counted, and what was read first may not tell of it.
      if (!before.includes(account)) reads.doubt();
      else if (outcome?.outcome === "accepted" && outcome.order.status !== "REJECTED")
        reads.answered(clientId, tellsFills ? outcome.order : null);
      else if (outcome?.outcome === "rejected" && !outcome.sent) reads.notSent(clientId);
      else reads.unclear(clientId);
      account.refreshSoon();
    }
  }
}

/** Something of ours that may change positions in a way that no order tells: a change of an order, a setting. */
export async function changeTold<T>(audience: OrderAudience, send: () => Promise<T>): Promise<T> {
  for (const { reads } of audience.streamed()) reads.doubt();
  audience.note();
  try {
    return await send();
  } finally {
    audience.note();
    for (const account of audience.streamed()) {
      account.reads.doubt();
      account.refreshSoon();
    }
  }
}
