/** What the provider of outside wallets is given, and what it counts. */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { Owners } from "../../domain/owner.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { StateStore } from "../../storage/state-store.js";
import type { CreationWrites } from "../provider/wallet-provider.js";
import type { FailureKind } from "../mpc/base/outcome.js";
import type { SignatureVerifier } from "../mpc/parts/final-signature.js";
import type { Followed } from "./follow-request.js";
import type { OutsideReply, OutsideSigner } from "./outside-signer.js";

export interface OutsidePorts {
  readonly signer: OutsideSigner;
  readonly store: StateStore;
  readonly owners: Owners;
  /** By the service's secret: with another one every request is another one (request-ids.ts). */
  readonly hash: KeyedHash;
  readonly verifier: SignatureVerifier;
  /** The rows of creations in the audit log. */
  readonly creationWrites: CreationWrites;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Raw 32 bytes are put to the signer. Whoever may have them signed may have everything signed. */
  readonly takesDigests: boolean;
}

/** Tells the connection's state from every answer. */
export type Heard = (reply: OutsideReply) => void;

/** As the metrics know ends of signing: `cheat` is a signature or a key that is not what it should be. */
export class OutsideCounts {
  signed = 0;
  readonly failed: Record<FailureKind, number> = { transport: 0, refused: 0, violation: 0, cheat: 0, fault: 0 };

  note(followed: Followed): void {
    if (followed.kind === "rejected") this.failed.violation++;
    else if (followed.kind === "unknown" || followed.kind === "notBegun") this.failed.transport++;
    else if (followed.kind === "ended" && followed.end.state === "REFUSED") this.failed.refused++;
    else if (followed.kind === "ended" && followed.end.state === "FAILED") this.failed.fault++;
  }
}
