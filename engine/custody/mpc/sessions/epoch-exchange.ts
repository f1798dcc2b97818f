/**
 * What key generation and refresh have in common at either party (docs/mpc.md, 5.2, 5.3): base OT of both directions,
 * the transcript and its tag, the record of the new epoch. All of it but the sealed record dies with the run.
 */
import type { Sealer } from "../../sealing/sealer.js";
import { Arena } from "../base/arena.js";
import { type HashScope, hash, sha256 } from "../base/hash.js";
import { otherParty, type Party } from "../base/parameters.js";
import type { PublicPoint } from "../base/point.js";
import { labelled, type RandomSource } from "../base/random.js";
import { BaseOtChooser, type BaseOtKey } from "../parts/base-ot-chooser.js";
import { BaseOtMultiplier } from "../parts/base-ot-multiplier.js";
import { encodeShareRecord, OpenShare, type ShareName, shareContext } from "../state/share-record.js";
import type { SealedShare } from "./effects.js";
import type { SignPorts } from "./sign-material.js";

export type Flow = "kg" | "rf";

export interface EpochPorts extends SignPorts {
  readonly sealer: Pick<Sealer, "seal" | "open">;
  /** The backup file of a record: sealed to the offline key of this party. */
  sealBackup(share: OpenShare, ctr: bigint): Uint8Array;
}

/** What both parties know of the epoch that is made, and the own share. */
export interface NewEpoch {
  readonly flow: Flow;
  readonly party: Party;
  readonly epoch: number;
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly share: bigint;
  readonly publicShares: readonly [PublicPoint, PublicPoint];
  readonly key: PublicPoint;
  readonly gadgetSeeds: readonly [Uint8Array, Uint8Array];
}

export interface SealedEpoch {
  readonly name: ShareName;
  readonly record: Uint8Array;
  readonly backup: Uint8Array;
}

/** T_1 … T_8 and their hash. */
export class Transcript {
  readonly #bodies: Buffer[] = [];

  add(body: Uint8Array): void {
    this.#bodies.push(sha256(body));
  }

  tag(flow: Flow, scope: HashScope): Buffer {
    if (this.#bodies.length !== 8) throw new Error("a transcript has eight bodies");
    return hash(scope, flow === "kg" ? "kg/fin" : "ref/fin", {}, ...this.#bodies);
  }
}

export class BaseOtExchange {
  readonly multiplier: BaseOtMultiplier;
  readonly chooser: BaseOtChooser;
  readonly #arena = new Arena();

  constructor(party: Party, scope: HashScope, key: BaseOtKey, otherKey: PublicPoint, random: RandomSource) {
    const arena = this.#arena;
    this.multiplier = new BaseOtMultiplier({ scope, direction: party, chooserKey: otherKey, random, arena });
    this.chooser = new BaseOtChooser({ scope, direction: otherParty(party), key, arena });
  }

  wipe(): void {
    this.#arena.wipe();
  }
}

/** Seals the record of the epoch and its backup; what was open is wiped. */
export function sealEpoch(
  epoch: NewEpoch,
  tag: Buffer,
  ot: BaseOtExchange,
  ctr: bigint,
  ports: EpochPorts,
): SealedEpoch {
  const { party, scope, share, publicShares, key, gadgetSeeds } = epoch;
  const name = { walletId: scope.walletId, party, epoch: epoch.epoch, publicKey: key.bytes };
  const { delta, pads } = ot.multiplier;
  const { padPairs } = ot.chooser;
  const points = [publicShares[0].bytes, publicShares[1].bytes] as const;
  const parts = { ...name, sid: scope.sid, tag, share, publicShares: points, gadgetSeeds, delta, pads, padPairs };
  const record = new OpenShare(encodeShareRecord(parts), name);
  try {
    const sealed = record.sealedBy(ports.sealer, shareContext(name));
    return { name, record: sealed, backup: ports.sealBackup(record, ctr) };
  } finally {
    record.wipe();
  }
}

/** As the commit of the prepared epoch puts it. */
export function sealedShare({ name, record }: SealedEpoch, tag: Uint8Array): SealedShare {
  return { epoch: name.epoch, tag, publicKey: name.publicKey, record };
}

export function openSealed(sealed: SealedEpoch, ports: EpochPorts): OpenShare {
  return new OpenShare(ports.sealer.open(shareContext(sealed.name), sealed.record), sealed.name);
}

/** What the test signature of an epoch signs. */
export function testDigest(epoch: NewEpoch): Buffer {
  return hash(epoch.scope, epoch.flow === "kg" ? "kg/test" : "ref/test", {}, epoch.key.bytes);
}

export function flowRandom(random: RandomSource, flow: Flow, epoch: number): RandomSource {
  return labelled(random, flow === "kg" ? "kg/" : `rf${epoch}/`);
}
