/**
 * Carries a deposit on by one round: looks at what was sent, hands it out again, and begins, signs and sends the next
 * step. In the turn of its lane (the wallet on its chain), so the nonces of two deposits never meet.
 *
 * Invariants: a signed transaction is durable before it is handed out. A version of a step is signed once; the same bytes
 * go out after a restart. A read that fails decides nothing.
 */
import type { Chain, GasPrice, TransactionStanding } from "../chain.js";
import { ServiceError } from "../domain/errors.js";
import type { CallOptions } from "../ports.js";
import { preparationOf } from "./deposit-preparation.js";
import {
  canBegin,
  concluded,
  credited,
  dearer,
  failed,
  handedOut,
  holdsLane,
  isDecided,
  isGivenUp,
  isLost,
  isSent,
  looked,
  prepared,
  signed,
  unsignedIndex,
  VERSIONS_MAX,
  wouldRevert,
} from "./deposit-steps.js";
import { creditOf, hasOthersLike } from "./other-credits.js";
import { digestOf, rawOf, unsignedOf } from "./raw-transaction.js";
import {
  answerOf,
  callOptions,
  isSignerAway,
  isUnsettledSigning,
  laneOf,
  mayLeave,
  type Mode,
  signatureOf,
  type TransferParts,
  readValue,
  withSession,
} from "./transfer-parts.js";
import {
  type DepositRow,
  depositStep,
  isEnded,
  isPutBack,
  type StoredStep,
  type StoredVersion,
} from "./transfer-row.js";
import { UnreadTimes } from "./unread-times.js";

/** Not mined for so long, its price is raised; twice as long for each raise after. */
const BUMP_MS = 60_000;
const UNANSWERED = { kind: "unknown" } as const;

export class Deposits {
  readonly #parts: TransferParts;
  /**
   * By row and step: since when each look says that another transaction took the nonce, or that the receipt is gone, on the
   * monotonic clock.
   */
  readonly #replaced = new Map<string, { readonly sinceNs: number; readonly looks: number }>();

  /** Of credits. */
  readonly #unread: UnreadTimes;

  constructor(parts: TransferParts) {
    this.#parts = parts;
    this.#unread = new UnreadTimes(parts.clock);
  }

  /**
   * In the turn of the lane. Returns the row as it is then. Rejects with what the signer refuses and STORE_UNAVAILABLE;
   * what the row then is `current` of the book says.
   */
  async round(start: DepositRow, mode: Mode): Promise<DepositRow> {
    const options = callOptions(mode, start);
    if (isEnded(start)) return this.#credit(start, options);
    const chain = this.#parts.chains.get(start.chainId);
    if (chain === undefined) return start;
    let row = start;
    for (const index of row.steps.keys()) row = await this.#followStep(row, index, chain, options);
    // Mined itself, it has nothing behind it that the lost life could have sent.
    if (isPutBack(row) && depositStep(row)?.mined?.succeeded !== true) return row;
    row = await this.#save(row, (one) => concluded(one, this.#now()));
    if (isEnded(row) || row.reason === "NOT_SHOWN") return this.#credit(row, options);
    if (isPutBack(row)) return row;
    const isLaneFree = row.steps.length > 0 || this.blocker(row) === null;
    if (unsignedIndex(row) < 0 && canBegin(row) && isLaneFree) row = await this.#begin(row, chain, options);
    const index = unsignedIndex(row);
    return index < 0 ? row : this.#signAndSend(row, index, { chain, mode, options });
  }

  /** Another deposit of the wallet on the chain that must be mined first; null: none. */
  blocker(row: DepositRow): DepositRow | null {
    for (const other of this.#parts.book.open(row.account))
      if (other.kind === "deposit" && other.transferId !== row.transferId && laneOf(other) === laneOf(row))
        if (holdsLane(other) && !isPutBack(other)) return other;
    return null;
  }

  async #followStep(row: DepositRow, index: number, chain: Chain, options: CallOptions): Promise<DepositRow> {
    const step = row.steps[index];
    if (step === undefined || !isSent(step) || isDecided(step)) return row;
    const hashes = step.versions.flatMap(({ hash }) => hash ?? []);
    const { mined } = step;
    const seenIn = mined === null ? {} : { seenIn: mined };
    const of = { from: row.account, nonce: step.nonce, hashes, ...seenIn };
    const read = await readValue(this.#parts, () => chain.standing(of, options));
    let next = row;
    if (read !== null && this.#isBelieved(row, index, read.value)) next = await this.#seen(row, index, read.value);
    const after = next.steps[index];
    if (after === undefined || after.mined !== null || isDecided(after) || isPutBack(next)) return next;
    const isKnown = read?.value.kind === "open" && read.value.isKnown;
    next = await this.#handOut(next, index, { chain, options, isKnown });
    return read?.value.kind === "open" ? this.#bump(next, index, chain, options) : next;
  }

  #isBelieved({ transferId }: DepositRow, index: number, { kind }: TransactionStanding): boolean {
    const name = `${transferId}/${index}`;
    const nowNs = this.#parts.clock.monoNs();
    const { sinceNs, looks } = this.#replaced.get(name) ?? { sinceNs: nowNs, looks: 0 };
    const isSure = isLost(looks + 1, (nowNs - sinceNs) / 1e6);
    const isLasting = kind === "replaced" || kind === "unshown";
    if (isLasting && !isSure) this.#replaced.set(name, { sinceNs, looks: looks + 1 });
    else this.#replaced.delete(name);
    return !isLasting || isSure;
  }

  async #seen(row: DepositRow, index: number, standing: TransactionStanding): Promise<DepositRow> {
    const step = row.steps[index];
    let taken: bigint | null = null;
    if (standing.kind === "mined" && standing.succeeded && step?.name === "deposit") {
      const route = this.#parts.rails.get(row.venue)?.deposits.route(row.chainId, row.token.symbol);
      // What it took is read from the logs with the venue's contract at hand, or not at all.
      if (route === undefined || route === null) return row;
      taken = route.taken(standing.logs, row.account);
    }
    // Its nonce may be that of a dearer version, which the store that was put back does not have.
    if (isPutBack(row) && standing.kind === "replaced") return row;
    const next = stillPutBack(row, looked(row, index, { standing, taken }, this.#now()));
    const after = next.steps[index];
    const isOver = after !== undefined && isDecided(after);
    return this.#save(row, () => next, isOver ? { chainId: row.chainId, nonce: after.nonce } : null);
  }

  /** Where no endpoint is known to have the newest version: it, or else one before it. */
  async #handOut(
    row: DepositRow,
    index: number,
    how: { readonly chain: Chain; readonly options: CallOptions; readonly isKnown: boolean },
  ): Promise<DepositRow> {
    const step = row.steps[index];
    const signedOnes = step?.versions.filter(({ signature }) => signature !== null) ?? [];
    const newest = signedOnes.at(-1);
    if (step === undefined || newest === undefined || newest.isTaken) return row;
    const outcome = await this.#broadcast(row, step, { ...how, version: newest });
    if (outcome.kind !== "taken")
      for (const version of signedOnes.slice(0, -1).reverse()) {
        const older = await this.#broadcast(row, step, { ...how, version });
        if (older.kind === "taken") break;
      }
    // Behind a price that waits for its signature, the row says nothing of the send of the one before.
    if (newest !== step.versions.at(-1)) return row;
    // Where a pool has it, a word like "already known" takes nothing of that back.
    if (how.isKnown && outcome.kind !== "taken") return row;
    return this.#save(row, (one) => handedOut(one, { index, isFirst: false }, outcome, this.#now()));
  }

  async #bump(row: DepositRow, index: number, chain: Chain, options: CallOptions): Promise<DepositRow> {
    const step = row.steps[index];
    const last = step?.versions.at(-1);
    if (step === undefined || last === undefined || last.signature === null || step.mined !== null) return row;
    if (step.versions.length >= VERSIONS_MAX || !isStuck(row, index, this.#now())) return row;
    const price = await readValue(this.#parts, () => chain.gasPrice(options));
    if (price === null) return row;
    const next = dearer(row, index, price.value, this.#now());
    const version = next.steps[index]?.versions.at(-1);
    if (version === undefined || isAbove(version, chain.priceMax)) return row;
    return this.#save(row, () => next);
  }

  async #begin(row: DepositRow, chain: Chain, options: CallOptions): Promise<DepositRow> {
    const next = await preparationOf(this.#parts, row, chain, options);
    if (next === null) return row;
    if (next.kind === "reverted") return this.#save(row, (one) => wouldRevert(one, next.reason, this.#now()));
    return this.#save(row, (one) => prepared(one, next, this.#now()));
  }

  async #signAndSend(
    row: DepositRow,
    index: number,
    how: { readonly chain: Chain; readonly mode: Mode; readonly options: CallOptions },
  ): Promise<DepositRow> {
    const step = row.steps[index];
    if (step === undefined) return row;
    const isFirst = !isSent(step);
    let next: DepositRow;
    try {
      next = await this.#sign(row, index, step);
    } catch (error) {
      await this.#unsigned(row, { error, mode: how.mode, isFirst });
      throw error;
    }
    const after = next.steps[index];
    const version = after?.versions.at(-1);
    if (after === undefined || version === undefined) return next;
    const outcome = await this.#broadcast(next, after, { ...how, version });
    return this.#save(next, (one) => handedOut(one, { index, isFirst }, outcome, this.#now()));
  }

  async #sign(row: DepositRow, index: number, step: StoredStep): Promise<DepositRow> {
    const version = step.versions.at(-1);
    if (version === undefined) throw new ServiceError("INTERNAL", { problem: "transfers: NO_VERSION" });
    const transaction = unsignedOf(row.chainId, step, version);
    const { signature, digest } = await signatureOf(this.#parts, row.walletId, { kind: "transaction", transaction });
    const raw = rawOf(row.chainId, step, version, signature);
    if (raw === null || digest !== digestOf(row.chainId, step, version))
      throw new ServiceError("FAILED_TO_SIGN", { reason: "OTHER_DIGEST" });
    return this.#save(row, (one) => signed(one, index, { signature, hash: raw.hash }, this.#now()));
  }

  /** Where nothing of the deposit was signed and the signer's word is final, so is the row's. */
  async #unsigned(
    row: DepositRow,
    { error, mode, isFirst }: { readonly error: unknown; readonly mode: Mode; readonly isFirst: boolean },
  ): Promise<void> {
    // The commit of a signature failed: it may be in the store.
    const isStore = error instanceof ServiceError && error.code === "STORE_UNAVAILABLE";
    if (isStore || !isFirst || isUnsettledSigning(error)) return;
    const isNothingOut = !row.steps.some(isSent);
    // What was sent before is followed to its end; the signer is asked again then.
    if (row.steps.some((step) => isSent(step) && !isDecided(step))) return;
    if (isSignerAway(error) && (mode === "kept" || !isNothingOut)) return;
    const code = error instanceof ServiceError ? error.code : "INTERNAL";
    await this.#save(row, (one) => failed(one, "NOT_SIGNED", code, this.#now()));
  }

  async #broadcast(
    row: DepositRow,
    step: StoredStep,
    {
      chain,
      options,
      version,
    }: {
      readonly chain: Chain;
      readonly options: CallOptions;
      readonly version: StoredStep["versions"][number];
    },
  ) {
    const raw = version.signature === null ? null : rawOf(row.chainId, step, version, version.signature);
    if (raw === null) throw new ServiceError("INTERNAL", { problem: "transfers: NOT_SIGNED" });
    await mayLeave(this.#parts, !version.isTaken);
    return answerOf(this.#parts, () => chain.broadcast(raw.bytes, options), UNANSWERED);
  }

  /** Whether the venue has the money of a deposit that is final. */
  async #credit(row: DepositRow, options: CallOptions): Promise<DepositRow> {
    const mined = depositStep(row)?.mined;
    const rail = this.#parts.rails.get(row.venue)?.deposits;
    // Of one that the chain undid, as far as it was seen, a credit of its amount is another one's; and where too few have its
    // block, nothing is for good yet.
    if (row.state === "failed" || mined?.succeeded !== true || !mined.isFinal || rail === undefined) return row;
    const deposit = {
      ...{ account: row.account, hash: mined.hash, chainId: row.chainId },
      amount: creditOf(row),
      sentAtMs: depositStep(row)?.versions[0]?.signedAtMs ?? row.createdAtMs,
    };
    const read = await withSession(this.#parts, row, options, (session) =>
      readValue(this.#parts, () => rail.look(deposit, session, options)),
    );
    const free = await this.#parts.book.unclaimed(row, read?.value ?? []);
    const [venueId] = free;
    // What enough endpoints have not shown has no more than the credits that no other deposit of its amount may have.
    const isSure = isEnded(row) || rail.isMatchedByHash;
    if (venueId !== undefined && (isSure || !(await hasOthersLike(row, free.length, this.#parts.book)))) {
      this.#unread.forget(row.transferId);
      return this.#save(row, (one) => credited(one, venueId, this.#now()));
    }
    const unreadMs = this.#unread.unreadMs(row.transferId, read !== null);
    if (!isGivenUp(row, unreadMs, this.#now())) return row;
    this.#unread.forget(row.transferId);
    this.#parts.logger.warn("transfers.not_credited", { venue: row.venue, name: row.transferId });
    return this.#save(row, (one) => ({ ...one, isCreditAwaited: false, updatedAtMs: this.#now() }));
  }

  #save(
    row: DepositRow,
    change: (row: DepositRow) => DepositRow,
    usedNonce: { readonly chainId: number; readonly nonce: number } | null = null,
  ): Promise<DepositRow> {
    return this.#parts.book.update(row, change, usedNonce);
  }

  #now(): number {
    return this.#parts.clock.wallMs();
  }
}

/** Nothing is ahead of the step, and its time is over. */
function isStuck({ steps }: DepositRow, index: number, nowMs: number): boolean {
  if (steps.slice(0, index).some((step) => step.mined === null && !isDecided(step))) return false;
  const versions = steps[index]?.versions ?? [];
  const signedAtMs = versions.at(-1)?.signedAtMs ?? nowMs;
  return nowMs - signedAtMs >= BUMP_MS * 2 ** (versions.length - 1);
}

function isAbove({ maxFeePerGas, maxPriorityFeePerGas }: StoredVersion, most: GasPrice): boolean {
  return BigInt(maxFeePerGas) > most.maxFeePerGas || BigInt(maxPriorityFeePerGas) > most.maxPriorityFeePerGas;
}

/** Until the deposit itself is mined: what comes behind a step that is seen may have been sent already. */
function stillPutBack(before: DepositRow, next: DepositRow): DepositRow {
  if (!isPutBack(before) || isPutBack(next) || depositStep(next)?.mined?.succeeded === true) return next;
  return { ...next, state: before.state, reason: before.reason };
}
