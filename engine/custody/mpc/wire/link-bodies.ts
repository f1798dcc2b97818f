/** Bodies of the messages that belong to no session: `Hello`, `State`, `Count`, `Activate`, `Abort` (docs/mpc.md, 3.3). */

import { type RefusalCode, violation } from "../base/outcome.js";
import { STAGE_CODES, STATUS_CODES, type Stage, type WireStatus } from "../state/state-row.js";
import type { EpochView, WalletView } from "../state/two-phase.js";
import { BodyReader } from "./body-reader.js";
import { BodyWriter } from "./body-writer.js";
import { isZero } from "./header.js";

const TAG_BYTES = 32;
const STATE_BYTES = 82;
const HELLO_BYTES = 121;
const COUNT_BYTES = 24;

export interface Hello {
  readonly suite: Uint8Array;
  readonly party: number;
  readonly kekId: Uint8Array;
  readonly backupKeyId: Uint8Array;
  readonly bootId: Uint8Array;
  readonly inventory: Uint8Array;
}

export function encodeHello(hello: Hello): Buffer {
  const writer = new BodyWriter(HELLO_BYTES).raw(hello.suite, 32).u8(hello.party).raw(hello.kekId, 8);
  return writer.raw(hello.backupKeyId, 32).raw(hello.bootId, 16).raw(hello.inventory, 32).finish();
}

export function decodeHello(body: Uint8Array): Hello {
  const reader = new BodyReader(body, HELLO_BYTES);
  return reader.whole({
    suite: reader.bytes(32),
    party: reader.u8(),
    kekId: reader.bytes(8),
    backupKeyId: reader.bytes(32),
    bootId: reader.bytes(16),
    inventory: reader.bytes(32),
  });
}

export function encodeState(view: WalletView): Buffer {
  const zeros = new Uint8Array(TAG_BYTES);
  return new BodyWriter(STATE_BYTES)
    .u8(STATUS_CODES[view.status])
    .u8(STAGE_CODES[view.stage])
    .u32(view.active?.epoch ?? 0)
    .u32(view.prepared?.epoch ?? 0)
    .raw(view.active?.tag ?? zeros, TAG_BYTES)
    .raw(view.prepared?.tag ?? zeros, TAG_BYTES)
    .u64(view.ctr)
    .finish();
}

/** `from`: S is never `tested`, since its own verification of the test signature is the decision. */
export function decodeState(body: Uint8Array, from: 0 | 1): WalletView {
  const reader = new BodyReader(body, STATE_BYTES);
  const status = nameOf<WireStatus>(STATUS_CODES, reader.u8());
  const stage = nameOf<Stage>(STAGE_CODES, reader.u8());
  const activeEpoch = reader.u32();
  const preparedEpoch = reader.u32();
  const active = epochView(activeEpoch, reader.bytes(TAG_BYTES));
  const prepared = epochView(preparedEpoch, reader.bytes(TAG_BYTES));
  const view = reader.whole({ status, stage, active, prepared, ctr: reader.u64() });
  if (!isPossible(view) || (from === 0 && stage === "tested")) throw violation("state");
  return view;
}

function isPossible({ status, stage, active, prepared, ctr }: WalletView): boolean {
  if ((stage === "none") !== (prepared === null)) return false;
  if ((status === "none" || status === "new") !== (active === null)) return false;
  if (status === "none") return prepared === null && ctr === 0n;
  if (status === "new" && prepared === null) return false;
  return prepared === null || prepared.epoch === (active?.epoch ?? 0) + 1;
}

function epochView(epoch: number, tag: Uint8Array): EpochView | null {
  if (epoch !== 0) return { epoch, tag };
  if (!isZero(tag)) throw violation("tag of no epoch");
  return null;
}

/** How far a service's store has counted (engine/storage/instance), and which one it was. */
interface CountBody {
  /** 16 bytes. */
  readonly id: Uint8Array;
  readonly count: bigint;
}

export function encodeCount({ id, count }: CountBody): Buffer {
  return new BodyWriter(COUNT_BYTES).raw(id, 16).u64(count).finish();
}

export function decodeCount(body: Uint8Array): CountBody {
  const reader = new BodyReader(body, COUNT_BYTES);
  return reader.whole({ id: reader.bytes(16), count: reader.u64() });
}

export function encodeTag(tag: Uint8Array): Buffer {
  return new BodyWriter(TAG_BYTES).raw(tag, TAG_BYTES).finish();
}

/** Also KG9, KG10, RF9, RF10 and F6: 32 bytes that are compared. */
export function decodeTag(body: Uint8Array): Uint8Array {
  const reader = new BodyReader(body, TAG_BYTES);
  return reader.whole(reader.bytes(TAG_BYTES));
}

export const ABORT_CLASSES = { transport: 1, refused: 2, violation: 3, fault: 4 } as const;
export type AbortClass = keyof typeof ABORT_CLASSES;

export const REFUSAL_CODES: Readonly<Record<RefusalCode, number>> = {
  VERSION: 1,
  WALLET: 2,
  EPOCH: 3,
  CTR: 4,
  TAG: 5,
  DIGEST: 6,
  POLICY: 7,
  STATE: 8,
  RATE: 9,
};

/** `code` and `detail` (the number of the rule) are those of a refusal. */
export type AbortBody =
  | { readonly class: "transport" | "violation" | "fault" }
  | { readonly class: "refused"; readonly code: RefusalCode; readonly detail: number };

export function encodeAbort(abort: AbortBody): Buffer {
  const code = abort.class === "refused" ? REFUSAL_CODES[abort.code] : 0;
  const detail = abort.class === "refused" ? abort.detail : 0;
  const writer = new BodyWriter(4).u8(ABORT_CLASSES[abort.class]).u8(code);
  return writer
    .u8(detail >> 8)
    .u8(detail & 255)
    .finish();
}

export function decodeAbort(body: Uint8Array): AbortBody {
  const reader = new BodyReader(body, 4);
  const abortClass = nameOf<AbortClass>(ABORT_CLASSES, reader.u8());
  const code = reader.u8();
  const detail = reader.whole(reader.u8() * 256 + reader.u8());
  if (abortClass !== "refused") {
    if (code !== 0 || detail !== 0) throw violation("abort");
    return { class: abortClass };
  }
  const refusal = nameOf<RefusalCode>(REFUSAL_CODES, code);
  if (refusal !== "POLICY" && detail !== 0) throw violation("abort");
  return { class: "refused", code: refusal, detail };
}

function nameOf<Name extends string>(codes: Readonly<Record<Name, number>>, code: number): Name {
  for (const name of Object.keys(codes) as Name[]) if (codes[name] === code) return name;
  throw violation("code");
}
