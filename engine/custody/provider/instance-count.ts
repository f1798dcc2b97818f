/**
 * The count of the service's state store, which C keeps so that a store that was put back is seen (docs/mpc.md, 3.3;
 * engine/storage/instance). C believes it, and takes the higher count: S alone is fooled by a lie about it.
 */
import { decodeJson, encodeJson, type StateStore } from "../../storage/state-store.js";
import { type InstanceCount, readCount } from "../../storage/instance/instance-mark.js";
import { violation } from "../mpc/base/outcome.js";
import { decodeCount, encodeCount } from "../mpc/wire/link-bodies.js";

export function countBody({ id, count }: InstanceCount): Buffer {
  return encodeCount({ id: Buffer.from(id, "hex"), count: BigInt(count) });
}

/** Throws a violation for a count that no store comes to. */
export function countOfBody(body: Uint8Array): InstanceCount {
  const { id, count } = decodeCount(body);
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) throw violation("count");
  return { id: Buffer.from(id).toString("hex"), count: Number(count) };
}

/** At C. */
export interface CountKeeper {
  /** Returns the higher one, once it is durable. Rejects with STORE_UNAVAILABLE. */
  told(theirs: InstanceCount): Promise<InstanceCount>;
}

const NAMESPACE = "custody-instance";
const KEY = "service";

export function storedCount(store: Pick<StateStore, "get" | "put">): CountKeeper {
  return {
    async told(theirs) {
      const value = await store.get(NAMESPACE, KEY);
      const own = value === null ? null : readCount(decodeJson(value));
      if (own !== null && own.count >= theirs.count) return own;
      await store.put(NAMESPACE, KEY, encodeJson(theirs));
      return theirs;
    },
  };
}

/** At S. */
export interface CountedStore {
  readonly toTell: InstanceCount;
  met(): void;
  heard(theirs: InstanceCount): void;
}
