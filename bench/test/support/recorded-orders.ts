/**
 * What the service records of its orders, kept in a store of its own in place of the record: a row that is written
 * twice is there twice.
 */
import type { OrderEvent } from "../../../engine/orders/conclude/order-events.js";
import type { RecordedRun, RecordSink } from "../../../engine/orders/conclude/record-sink.js";
import type { StateStore, StateWrite } from "../../../engine/storage/state-store.js";

export interface RecordedState {
  readonly venue: string;
  readonly clientId: string;
  readonly ver: number;
  readonly status: string;
  /** Null when no fill row came with it. */
  readonly fillLots: number | null;
  /** A fill row without its price is written again once the price is known. */
  readonly isPriced: boolean;
}

const NAMESPACE = "judged-orders";
const PAGE = 1_000;

export class RecordedOrders implements RecordSink {
  /** Index of the next row, over all starts. */
  #next = 0;

  decisionWrites({ run, events }: Parameters<RecordSink["decisionWrites"]>[0]): readonly StateWrite[] {
    return run === null ? [] : this.eventWrites(run, events);
  }

  eventWrites(_run: RecordedRun, events: readonly OrderEvent[]): readonly StateWrite[] {
    return events.map(({ attempt, filled, status, ver }) => {
      const { order, venue, venueClientOrderId: clientId } = attempt;
      const fillLots = filled ? (order?.filledLots ?? 0) : null;
      const isPriced = order !== null && order.averagePrice !== null;
      const state: RecordedState = { venue, clientId, ver, status, fillLots, isPriced };
      return {
        namespace: NAMESPACE,
        key: String(this.#next++).padStart(10, "0"),
        value: Buffer.from(JSON.stringify(state)),
      };
    });
  }

  committed(): void {}

  note(): void {}

  /** Oldest first. */
  async read(store: StateStore): Promise<readonly RecordedState[]> {
    const states: RecordedState[] = [];
    for (let after = ""; ; ) {
      const page = await store.scan(NAMESPACE, { prefix: "", limit: PAGE, ...(after === "" ? {} : { after }) });
      for (const { value } of page) states.push(JSON.parse(Buffer.from(value).toString("utf8")) as RecordedState);
      after = page.at(-1)?.key ?? "";
      if (page.length < PAGE) return states;
    }
  }
}
