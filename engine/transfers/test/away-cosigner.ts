/** The count of a store whose co-signer is away, until it is met. */
import { silentLogger } from "../../domain/logger.js";
import type { VirtualClock } from "../../domain/virtual-clock.js";
import { Instance } from "../../storage/instance/instance.js";
import type { CountFile } from "../../storage/instance/instance-file.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { TransferParts } from "../transfer-parts.js";

const FILE: CountFile = { read: async () => ({ kind: "missing" }), write: async () => {} };

export class AwayCosigner {
  readonly instance: NonNullable<TransferParts["instance"]>;
  /** It has counted as far as the store, or further. */
  readonly meet: (counts: "as far" | "further") => void;

  private constructor(instance: Instance) {
    this.instance = instance;
    this.meet = (counts) => {
      const { id, count } = instance.toTell;
      instance.heard({ id, count: counts === "further" ? count + 1 : count });
    };
  }

  static async open(clock: VirtualClock): Promise<AwayCosigner> {
    const parts = { store: createMemoryStore(), file: FILE, clock, newId: () => "0".repeat(32), logger: silentLogger };
    const instance = await Instance.open(parts);
    instance.bindWitness(() => {});
    return new AwayCosigner(instance);
  }
}
