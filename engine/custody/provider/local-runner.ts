/**
 * Sessions in this thread: what the co-signer and tests run, and what a worker runs behind its port. Here alone shares
 * are opened and the records and backups of new epochs are sealed. A long step runs in slices, between which the thread
 * takes other calls.
 */
import { ServiceError } from "../../domain/errors.js";
import type { Sealer } from "../sealing/sealer.js";
import type { RandomSource } from "../mpc/base/random.js";
import type { SignatureVerifier } from "../mpc/parts/final-signature.js";
import type { EndCause, Step } from "../mpc/sessions/effects.js";
import type { EpochPorts } from "../mpc/sessions/epoch-exchange.js";
import { KeygenCosigner } from "../mpc/sessions/keygen-cosigner.js";
import { KeygenService } from "../mpc/sessions/keygen-service.js";
import { RefreshCosigner } from "../mpc/sessions/refresh-cosigner.js";
import { RefreshService } from "../mpc/sessions/refresh-service.js";
import { type CosignedWallet, SignCosigner } from "../mpc/sessions/sign-cosigner.js";
import { computedGadgets, type GadgetSource } from "../mpc/sessions/sign-material.js";
import { SignService } from "../mpc/sessions/sign-service.js";
import type { OpenShare } from "../mpc/state/share-record.js";
import type { StateRow } from "../mpc/state/state-row.js";
import type { Message } from "../mpc/wire/header.js";
import { LongSteps, type NextTurn, type SlicedSession } from "./long-steps.js";
import type { BackupOwner } from "./open-backup.js";
import {
  type CosignerRequest,
  type HeldShare,
  portableStep,
  type ServiceRequest,
  type SessionRunner,
  unopened,
} from "./session-runner.js";
import { openStoredShare } from "./share-row.js";

export interface RunnerPorts {
  readonly sealer: Pick<Sealer, "seal" | "open">;
  readonly random: RandomSource;
  readonly verifier: SignatureVerifier;
  readonly nextTurn: NextTurn;
  /** The backup file of a record, sealed to the offline public key of this party; C's names no owner. */
  sealBackup(share: OpenShare, ctr: bigint, owner: BackupOwner | null): Uint8Array;
}

interface SessionObject extends SlicedSession {
  readonly ended: boolean;
  receive(message: Message): Step;
  end(cause: EndCause): Step;
}

interface Begun {
  readonly session: SessionObject;
  first(): Step;
}

/** Gadgets kept, in the order of their last use: 832 numbers each. */
const GADGETS_MAX = 128;

class LocalRunner<Request> implements SessionRunner<Request> {
  readonly #sessions = new Map<number, SessionObject>();
  readonly #begin: (request: Request) => Begun;
  readonly #rowOf: (request: Request) => StateRow | null;
  readonly #long: LongSteps;

  constructor(
    begin: (request: Request) => Begun,
    rowOf: (request: Request) => StateRow | null,
    { nextTurn }: Pick<RunnerPorts, "nextTurn">,
  ) {
    this.#begin = begin;
    this.#rowOf = rowOf;
    this.#long = new LongSteps(nextTurn);
  }

  async open(id: number, request: Request): Promise<Step> {
    if (this.#sessions.has(id)) throw misuse("known");
    this.#long.called();
    try {
      const { session, first } = this.#begin(request);
      this.#sessions.set(id, session);
      return await this.#ran(id, session, first());
    } catch (error) {
      this.#sessions.delete(id);
      return unopened(error, this.#rowOf(request));
    }
  }

  async receive(id: number, message: Message): Promise<Step> {
    const session = this.#session(id);
    this.#long.called();
    return this.#ran(id, session, session.receive(message));
  }

  async end(id: number, cause: EndCause): Promise<Step> {
    const session = this.#session(id);
    this.#long.called();
    this.#long.abandon(session);
    return this.#ran(id, session, session.end(cause));
  }

  abandon(id: number): void {
    const session = this.#sessions.get(id);
    if (session !== undefined) this.#long.abandon(session);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) {
      this.#long.abandon(session);
      session.end("stopped");
    }
    this.#sessions.clear();
  }

  #session(id: number): SessionObject {
    const session = this.#sessions.get(id);
    if (session === undefined) throw misuse("unknown");
    return session;
  }

  async #ran(id: number, session: SessionObject, first: Step): Promise<Step> {
    const step = session.core.isUnfinished ? await this.#long.result(session) : first;
    if (session.ended) this.#sessions.delete(id);
    return portableStep(step);
  }
}

export function createServiceRunner(ports: RunnerPorts): SessionRunner<ServiceRequest> {
  const gadgets = keptGadgets();
  const portsFor = (owner: BackupOwner | null) => epochPorts(ports, gadgets, owner);
  const begin = (request: ServiceRequest): Begun => {
    if (request.kind === "keygen") {
      const session = new KeygenService(request.walletId, portsFor(request.owner));
      return { session, first: () => session.start() };
    }
    const { row } = request;
    const share = openStoredShare(ports.sealer, request.walletId, 0, request.share);
    if (request.kind === "refresh") {
      const session = new RefreshService({ row, mode: request.mode, share }, portsFor(request.owner));
      return { session, first: () => session.start() };
    }
    const { intent, digest } = request;
    const session = new SignService({ row, share, intent, digest, isTest: false }, portsFor(null));
    return { session, first: () => session.start() };
  };
  return new LocalRunner(begin, (request) => (request.kind === "keygen" ? null : request.row), ports);
}

export function createCosignerRunner(ports: RunnerPorts): SessionRunner<CosignerRequest> {
  const all = epochPorts(ports, keptGadgets(), null);
  const walletOf = (walletId: Uint8Array, held: HeldShare | null): CosignedWallet | null =>
    held === null
      ? null
      : { row: held.row, tag: held.share.tag, openShare: () => openStoredShare(ports.sealer, walletId, 1, held.share) };
  const begin = (request: CosignerRequest): Begun => {
    const session = cosignerSession(request, walletOf, all);
    return { session, first: () => session.receive(request.message) };
  };
  return new LocalRunner(begin, (request) => (request.kind === "keygen" ? null : (request.held?.row ?? null)), ports);
}

function cosignerSession(
  request: CosignerRequest,
  walletOf: (walletId: Uint8Array, held: HeldShare | null) => CosignedWallet | null,
  ports: EpochPorts,
): SessionObject {
  if (request.kind === "keygen") return new KeygenCosigner(request.admission, ports);
  const { walletId } = request.message.header;
  const wallet = walletOf(walletId, request.held);
  // The host has one session of a wallet and refuses the second by itself.
  const shared = { walletId, wallet, busy: false };
  if (request.kind === "sign")
    return new SignCosigner({ ...shared, testDigest: null, intents: request.intents }, ports);
  return new RefreshCosigner({ ...shared, useApproval: (mode, epoch) => request.useApproval(mode, epoch) }, ports);
}

function epochPorts(ports: RunnerPorts, gadgets: GadgetSource, owner: BackupOwner | null): EpochPorts {
  const { sealer, random, verifier } = ports;
  return { sealer, random, verifier, gadgets, sealBackup: (share, ctr) => ports.sealBackup(share, ctr, owner) };
}

/** They are public and last for an epoch. */
function keptGadgets(): GadgetSource {
  const kept = new Map<string, readonly bigint[]>();
  return (share, direction) => {
    const key = `${share.sid.toString("hex")}/${direction}`;
    const gadget = kept.get(key) ?? computedGadgets(share, direction);
    kept.delete(key);
    kept.set(key, gadget);
    const [oldest] = kept.keys();
    if (kept.size > GADGETS_MAX && oldest !== undefined) kept.delete(oldest);
    return gadget;
  };
}

/** The host used the port against its rules: our bug. */
function misuse(how: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody: session ${how}` });
}
