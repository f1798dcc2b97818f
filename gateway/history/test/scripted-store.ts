/**
 * A store that answers as the test scripts it, for what a real one cannot do on command: be away, fail in the middle of
 * a stream, never end. Hand-written; records every query.
 */
import {
  createOffStore,
  type QueryFailure,
  type QueryParams,
  type QueryResult,
  type RecordsStore,
  type StreamBounds,
  type StreamResult,
} from "../../../engine/storage/records/records-store.js";

export interface Asked {
  readonly sql: string;
  readonly params: QueryParams;
  readonly signal: AbortSignal | undefined;
}

type OnChunk = (lines: Uint8Array) => void | Promise<void>;

export class ScriptedStore implements RecordsStore {
  readonly asked: Asked[] = [];
  on: "on" | "off" | "away" = "on";
  query_: (asked: Asked) => Promise<QueryResult> = async () => ({ ok: true, rows: [] });
  stream_: (asked: Asked, bounds: StreamBounds, onChunk: OnChunk) => Promise<StreamResult> = async () => ({
    ok: true,
    bytes: 0,
  });

  readonly start = createOffStore("scripted").start;
  readonly insert = createOffStore("scripted").insert;
  readonly close = createOffStore("scripted").close;

  query(sql: string, params: QueryParams, bounds: { readonly signal?: AbortSignal }): Promise<QueryResult> {
    const asked = { sql, params, signal: bounds.signal };
    this.asked.push(asked);
    return this.query_(asked);
  }

  queryStream(sql: string, params: QueryParams, bounds: StreamBounds, onChunk: OnChunk): Promise<StreamResult> {
    const asked = { sql, params, signal: bounds.signal };
    this.asked.push(asked);
    return this.stream_(asked, bounds, onChunk);
  }

  state() {
    return { state: this.on, reason: this.on === "on" ? "" : "by the test", version: null };
  }
}

export function failure(reason: QueryFailure["reason"]): QueryFailure {
  return { ok: false, reason, code: reason === "refused" ? 62 : 0, text: "SELECT secret FROM t" };
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
