/** Keys, their authenticator and what they rest on, over a store in memory and a virtual clock. */
import { createHmac } from "node:crypto";
import { type Logger, silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMemoryStore, type MemoryStore } from "../../../engine/storage/test/memory-store.js";
import type { AuthVerdict, KeyHeaders, SignedRequest } from "../../http/caller.js";
import { ApiKeys } from "../api-keys.js";
import { AuditStore } from "../audit-store.js";
import { HighWaterMark } from "../high-water-mark.js";
import type { KeyWish, NewSecret } from "../key-admin.js";
import { StoredLocalRows } from "../local-rows.js";
import { ReplayWindow } from "../replay-window.js";
import { RequestAuth } from "../request-auth.js";
import type { FillRandom } from "../secret-text.js";
import { createTestSealer } from "./test-sealer.js";

export const WISH: KeyWish = { ownerId: null, label: "", scopes: ["read", "trade"], ips: [], adoptLocal: false };

export interface AuthHarness {
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  readonly audit: AuditStore;
  readonly localRows: StoredLocalRows;
  readonly keys: ApiKeys;
  readonly mark: HighWaterMark;
  readonly replays: ReplayWindow;
  readonly auth: RequestAuth;
  /** `key address` of each refusal for an address. */
  readonly foreign: string[];
}

export interface HarnessOptions {
  readonly mode?: RequestAuth["mode"];
  readonly clock?: VirtualClock;
  readonly store?: MemoryStore;
  readonly logger?: Logger;
  readonly seed?: number;
  readonly bounds?: { readonly live: number; readonly revoked: number };
  readonly kek?: string;
}

/** The same store and clock again: a restart. Another seed: other keys. */
export async function startAuth(options: HarnessOptions = {}): Promise<AuthHarness> {
  const { mode = "signed", clock = new VirtualClock(), store = createMemoryStore(), logger = silentLogger } = options;
  const fillRandom = seededFill(options.seed ?? 14);
  const audit = await AuditStore.open(store, clock, fillRandom);
  const localRows = await StoredLocalRows.open(store);
  const sealer = createTestSealer(options.kek);
  const bounds = options.bounds === undefined ? {} : { bounds: options.bounds };
  const keys = await ApiKeys.open({ store, sealer, clock, logger, fillRandom, audit, localRows, ...bounds });
  const mark = await HighWaterMark.open(store, clock, logger);
  const replays = new ReplayWindow();
  const foreign: string[] = [];
  const auth = new RequestAuth({
    ...{ mode, keys: keys.table, clock, replays, mark, fillRandom },
    onAddressRefused: (keyId, address) => foreign.push(`${keyId} ${address}`),
  });
  return { clock, store, audit, localRows, keys, mark, replays, auth, foreign };
}

export function seededFill(seed: number): FillRandom {
  const random = createSeededRandom(seed);
  return (target) => {
    for (let index = 0; index < target.byteLength; index++) target[index] = Math.floor(random.next() * 256);
  };
}

export interface Sending {
  readonly keyId: string;
  readonly secret: string;
  readonly timestamp: number | string;
  readonly recvWindow?: string;
  readonly method?: string;
  readonly target?: string;
  readonly body?: string;
  readonly address?: string;
}

/** A request as an honest client sends it, signed with nothing of the code under test. */
export function signed(sending: Sending, changes: Partial<KeyHeaders> = {}): SignedRequest {
  const { keyId, secret, recvWindow = "", method = "GET", target = "/api/limits", body = "" } = sending;
  const timestamp = String(sending.timestamp);
  const signature = createHmac("sha256", secret)
    .update(timestamp + recvWindow + method + target)
    .update(body)
    .digest("hex");
  const headers = {
    apiKey: keyId,
    timestamp,
    recvWindow: recvWindow === "" ? null : recvWindow,
    signature,
    secret: null,
  };
  const address = sending.address ?? "192.0.2.1";
  return { headers: { ...headers, ...changes }, method, target, body: Buffer.from(body), address };
}

/** Signs with a key that was just made. */
export function signedBy(made: NewSecret, timestamp: number, rest: Partial<Sending> = {}): SignedRequest {
  return signed({ keyId: made.key.keyId, secret: made.secret, timestamp, ...rest });
}

/** `ok`, or the code of the refusal. */
export function outcome(verdict: AuthVerdict): string {
  return verdict.ok ? "ok" : verdict.error.code;
}
