/**
 * What a party holds in one signature, and what it makes of it: msgA, msgB, msgE (docs/mpc.md, 8.2 to 8.4). Buffers lie
 * in arenas that are wiped at the transitions of 8.6; numbers can only be let go of.
 */
import { Arena, withArena } from "../base/arena.js";
import { type HashScope, hash, u64, withSid, ZERO_SID } from "../base/hash.js";
import { CHOICE_BYTES, type Direction, HASH_BYTES, otherParty, type Party } from "../base/parameters.js";
import { baseTimes, encodePublic, type PublicPoint } from "../base/point.js";
import { drawSessionSecrets, type RandomSource } from "../base/random.js";
import { reduced } from "../base/scalar.js";
import { commit } from "../parts/commitment.js";
import { directionScope, type ExtensionMessage, extendAsChooser } from "../parts/extension-chooser.js";
import { extendAsMultiplier, type MultiplierExtension } from "../parts/extension-multiplier.js";
import {
  type JointNonce,
  type SignatureShare,
  type SignatureVerifier,
  signatureShare,
} from "../parts/final-signature.js";
import { gadgetOf } from "../parts/gadget.js";
import { chooserFactor } from "../parts/multiply-chooser.js";
import { multiplyAsMultiplier } from "../parts/multiply-multiplier.js";
import type { OpenShare } from "../state/share-record.js";
import type { MessageA, MessageB } from "../wire/sign-bodies.js";

/** The public gadget of an epoch and direction; who runs many sessions keeps them. */
export type GadgetSource = (share: OpenShare, direction: Direction) => readonly bigint[];

export const computedGadgets: GadgetSource = (share, direction) => {
  const scope = { walletId: share.walletId, epoch: share.epoch, sid: share.sid };
  return gadgetOf(scope, direction, ...share.gadgetSeeds);
};

export interface SignPorts {
  readonly random: RandomSource;
  readonly verifier: SignatureVerifier;
  readonly gadgets: GadgetSource;
}

export interface SignNames {
  readonly ctr: bigint;
  readonly digest: Uint8Array;
  readonly nonces: readonly [Uint8Array, Uint8Array];
}

/** ssid of a session: both nonces, the durable ctr, the digest and the tag of the epoch are in it. */
export function signScope(share: OpenShare, { ctr, digest, nonces }: SignNames): HashScope {
  const root = { walletId: share.walletId, epoch: share.epoch, sid: ZERO_SID };
  return withSid(root, hash(root, "sign/sid", {}, u64(ctr), share.publicKey, digest, ...nonces, share.tag));
}

/** Drawn once both nonces are known. */
export interface Drawn {
  readonly k: bigint;
  readonly phi: bigint;
  readonly checkInput: bigint;
  readonly nonce: PublicPoint;
  readonly salt: Buffer;
  /** beta, 52 bytes: what check 4 needs of c. */
  readonly choice: Buffer;
  /** b */
  readonly factor: bigint;
  /** pc */
  readonly pads: readonly bigint[];
  /** x_i, kept until the share of the signature exists. */
  readonly share: bigint;
  readonly messageA: MessageA;
}

export class SignMaterial {
  readonly party: Party;
  readonly scope: HashScope;
  readonly digest: Uint8Array;
  readonly #share: OpenShare;
  readonly #ports: SignPorts;
  readonly #ctr: bigint;
  readonly #arena = new Arena();
  readonly #gadgets = new Map<Direction, readonly bigint[]>();
  #drawn: Drawn | null = null;
  #multiplied: readonly [bigint, bigint] | null = null;

  constructor(share: OpenShare, names: SignNames, ports: SignPorts) {
    this.party = share.party;
    this.scope = signScope(share, names);
    this.digest = names.digest;
    this.#share = share;
    this.#ctr = names.ctr;
    this.#ports = ports;
  }

  get drawn(): Drawn {
    if (this.#drawn === null) throw new Error("nothing is drawn");
    return this.#drawn;
  }

  directionScope(direction: Direction): HashScope {
    return directionScope(this.scope, direction);
  }

  gadget(direction: Direction): readonly bigint[] {
    const known = this.#gadgets.get(direction) ?? this.#ports.gadgets(this.#share, direction);
    this.#gadgets.set(direction, known);
    return known;
  }

  /** Draws, and makes msgA as chooser of the other's direction. Wiped when it returns: root, c, T, t, PRG output. */
  makeMessageA(): MessageA {
    const direction = otherParty(this.party);
    const kept = this.#arena;
    this.#drawn = withArena((arena) => {
      const share = this.#share.share;
      const given = { scope: this.scope, party: this.party, share, ctr: this.#ctr, digest: this.digest };
      const secrets = drawSessionSecrets(given, this.#ports.random, arena);
      const nonce = encodePublic(baseTimes(secrets.k));
      const commitment = commit(this.scope, "sign/com", this.party, [secrets.salt, nonce.bytes]);
      const scope = this.directionScope(direction);
      const { padPairs } = this.#share;
      const extension = extendAsChooser({ scope, direction, padPairs, choice: secrets.choice }, arena);
      const choice = kept.take(CHOICE_BYTES);
      choice.set(secrets.choice.subarray(0, CHOICE_BYTES));
      const salt = kept.take(HASH_BYTES);
      salt.set(secrets.salt.subarray(0, HASH_BYTES));
      return {
        ...{ k: secrets.k, phi: secrets.phi, checkInput: secrets.ah, nonce, salt, choice, share },
        factor: chooserFactor(this.gadget(direction), choice),
        pads: extension.pads,
        messageA: { commitment, extension: extension.message },
      };
    });
    return this.drawn.messageA;
  }

  /** Check 3 on the other's msgA, then the pads. */
  extend(message: ExtensionMessage): MultiplierExtension {
    const direction = this.party;
    const { delta, pads } = this.#share;
    const scope = this.directionScope(direction);
    return withArena((arena) => extendAsMultiplier({ scope, direction, delta, pads, message }, arena));
  }

  /** msgB as multiplier with inputs (k, x). The other's msgA is held; what the share record holds is wiped after it. */
  makeMessageB(pads: MultiplierExtension, extension: ExtensionMessage): MessageB {
    const { k, share, checkInput, nonce, salt, phi, factor } = this.drawn;
    const direction = this.party;
    const scope = this.directionScope(direction);
    const gadget = this.gadget(direction);
    const given = { scope, direction, gadget, pads, extension, inputs: [k, share] as const, checkInput };
    const { multiply, shares } = withArena((arena) => {
      const made = multiplyAsMultiplier(given, arena);
      // tau is sent, so it is copied out of the arena.
      const tau = { bytes: Buffer.from(made.message.tau.bytes) };
      return { multiply: { ...made.message, tau }, shares: made.shares };
    });
    this.#multiplied = shares;
    this.#share.wipe();
    const [gammaU, gammaV] = [encodePublic(baseTimes(shares[0])), encodePublic(baseTimes(shares[1]))];
    // The salt is sent, so it is copied out of the arena.
    return { nonce, salt: Buffer.from(salt), multiply, gammaU, gammaV, psi: reduced(phi - factor) };
  }

  /** u and w; all other secrets of the session are let go of. */
  makeShare(chosen: readonly [bigint, bigint], otherPsi: bigint, nonce: JointNonce): SignatureShare {
    if (this.#multiplied === null) throw new Error("nothing is multiplied");
    const { k, share, phi } = this.drawn;
    const multiplied = this.#multiplied;
    const made = signatureShare({ k, share, phi, otherPsi, multiplied, chosen, digest: this.digest, r: nonce.r });
    this.wipe();
    return made;
  }

  wipe(): void {
    this.#drawn = null;
    this.#multiplied = null;
    this.#arena.wipe();
    this.#share.wipe();
  }
}
