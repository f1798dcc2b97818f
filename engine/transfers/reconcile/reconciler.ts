/**
 * Compares the ledger with the chains, the venues' histories and the signing parties, one wallet after another, and says
 * what is missing where. It changes nothing.
 *
 * Invariant: what could not be read, or is beyond a bound, is named as such, and never counts as the same.
 * Bounds: one run at a time; one call at a time, each with its time-out, in the lane of what nobody waits for; as many
 * differences, unread and uncompared parts are kept as `LISTED_MAX`, and all are counted.
 */
import type { Chain } from "../../chain.js";
import type { Verdict } from "../../custody/mpc/state/two-phase.js";
import { scaleText } from "../../domain/decimal.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { Read } from "../../ports.js";
import type { Restored } from "../../storage/instance/instance-mark.js";
import type { VenueEntry, VenueMoney } from "../../venue-money.js";
import { isSent } from "../deposit-steps.js";
import {
  answerOf,
  depositLane,
  laneOf,
  NOBODY_WAITS,
  readValue,
  type TransferParts,
  withSession,
} from "../transfer-parts.js";
import type { DepositRow, TransferRow } from "../transfer-row.js";
import type { TransferBlock } from "./blocks.js";
import { compareEntries } from "./compare-entries.js";
import {
  type Difference,
  DIFFERENCE_KINDS,
  type DifferenceKind,
  type ReconcileFindings,
  type ReconcileReport,
  type UncomparedPart,
  type UnreadPart,
} from "./report.js";

interface ReconciledWallet {
  readonly walletId: string;
  readonly address: string;
}

/** The two signing parties. */
export interface PartyView {
  /** Null: they have not met. */
  readonly wallets:
    | readonly {
        readonly walletId: string;
        readonly epoch: number;
        readonly verdict: Verdict;
        readonly isSettled: boolean;
      }[]
    | null;
  readonly lost: readonly string[];
}

export interface ReconcilerParts
  extends Pick<TransferParts, "book" | "chains" | "rails" | "openSession" | "clock" | "logger"> {
  readonly wallets: () => readonly ReconciledWallet[];
  /** Null: somebody outside signs, and there is nothing to compare. */
  readonly parties: () => PartyView | null;
  readonly restored: () => Restored | null;
}

const WINDOW_MS = 7 * 86_400_000;
/** Before the last count of a restored store: clocks step, and a history is dated by the venue's. */
const BEFORE_BACKUP_MS = 3_600_000;
/** A row is older than what its venue says of it by this at most. */
const ROW_AGE_MS = 2 * 86_400_000;
const PAGE_ROWS = 100;
/** Rows of one wallet that are looked at. */
const ROWS_MAX = 5_000;
/** Of one wallet on a chain: the newest, whose transactions are asked for again. */
const DEPOSITS_MAX = 50;
const LISTED_MAX = 1_000;

export interface ReconcileRun {
  readonly report: ReconcileReport;
  readonly findings: ReconcileFindings;
}

export class Reconciler {
  readonly #parts: ReconcilerParts;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Rejects with STORE_UNAVAILABLE and LEDGER_BROKEN: the ledger itself cannot be read. */
  async run(): Promise<ReconcileRun> {
    const { clock, wallets, restored } = this.#parts;
    const startedAtMs = clock.wallMs();
    const putBack = restored();
    const windowMs = startedAtMs - WINDOW_MS;
    const backupMs = putBack === null ? windowMs : (putBack.storeAtMs ?? 0) - BEFORE_BACKUP_MS;
    const tally = new Tally(Math.max(0, Math.min(windowMs, backupMs)), Math.max(0, backupMs), putBack !== null);
    this.#compareParties(tally);
    const all = wallets();
    for (const wallet of all) {
      const rows = await this.#rowsOf(wallet.walletId, tally.sinceMs - ROW_AGE_MS);
      const isTooLong = rows.length >= ROWS_MAX;
      if (isTooLong) tally.unread({ part: "ledger", walletId: wallet.walletId, code: "TOO_MANY_ROWS" });
      for (const chain of this.#parts.chains.values()) await this.#compareChain(tally, wallet, rows, chain);
      for (const [venue, rail] of this.#parts.rails) await this.#compareVenue(tally, wallet, rows, { venue, rail });
    }
    return tally.ended({ startedAtMs, endedAtMs: clock.wallMs(), wallets: all.length, restored: putBack });
  }

  #compareParties(tally: Tally): void {
    const parties = this.#parts.parties();
    if (parties === null) return;
    for (const walletId of parties.lost) {
      tally.differs({ ...NO_ROW, kind: "WALLET_LOST", walletId, part: PARTY, text: "this store lost the wallet" });
      // Brought back behind the release, it could send again what nobody has looked for.
      if (tally.isRestored) tally.unread({ part: PARTY, walletId, code: "WALLET_LOST" });
    }
    if (parties.wallets === null) tally.unread({ part: PARTY, walletId: null, code: "SIGNER_UNAVAILABLE" });
    for (const { walletId, epoch, verdict, isSettled } of parties.wallets ?? [])
      if (verdict !== "settled")
        tally.differs({ ...NO_ROW, kind: "EPOCHS", walletId, part: PARTY, text: `epoch ${epoch} here: ${verdict}` });
      else if (isSettled) tally.compared++;
      else tally.unread({ part: PARTY, walletId, code: "NOT_SETTLED" });
  }

  async #rowsOf(walletId: string, sinceMs: number): Promise<TransferRow[]> {
    const rows: TransferRow[] = [];
    for (let after: string | null = null; rows.length < ROWS_MAX; ) {
      const page = await this.#parts.book.page(walletId, after, PAGE_ROWS);
      rows.push(...page.rows);
      after = page.next;
      if (after === null || (page.rows.at(-1)?.createdAtMs ?? 0) < sinceMs) break;
    }
    return rows;
  }

  async #compareChain(
    tally: Tally,
    { walletId, address }: ReconciledWallet,
    rows: readonly TransferRow[],
    chain: Chain,
  ): Promise<void> {
    const account = address.toLowerCase();
    const { chainId } = chain;
    const part = `chain ${chainId}`;
    const options = NOBODY_WAITS;
    const read = await answerOf<Read<number> | null>(this.#parts, () => chain.nextNonce(account, options), null);
    if (read?.ok !== true) {
      tally.unread({ part, walletId, code: read?.code ?? "TIMEOUT" });
      tally.blocks({ ...ANYTHING, reason: "UNREAD", kind: "deposit", account, chainId });
      return;
    }
    const { book } = this.#parts;
    const known = nonceOf(this.#parts, account, chainId);
    const next = read.value;
    if (next > known) {
      const which = next - known === 1 ? `nonce ${known}` : `nonces ${known} to ${next - 1}`;
      tally.differs({ ...NO_ROW, kind: "UNKNOWN_TRANSACTIONS", walletId, part, text: `${which} used by no row` });
      tally.blocks({ ...ANYTHING, reason: "UNKNOWN_TRANSACTIONS", kind: "deposit", account, chainId });
      const before = { from: account, nonce: next - 1, hashes: [] };
      const standing = await readValue(this.#parts, () => chain.standing(before, options));
      if (standing?.value.kind === "replaced") tally.final({ chainId, account, nonce: next });
    }
    const used = book.nonceAfter(chainId, account);
    if (next < used)
      tally.differs({
        ...NO_ROW,
        kind: "NONCE_BELOW",
        walletId,
        part,
        text: `next is ${next}, ${used} in the ledger`,
      });
    tally.compared++;
    const final = finalDeposits(rows, chainId, tally.sinceMs);
    for (const row of final.slice(0, DEPOSITS_MAX)) await this.#compareHashes(tally, row, chain, part);
    const left = final.slice(DEPOSITS_MAX).flatMap(({ steps }) => steps.filter(({ mined }) => mined !== null));
    if (left.length > 0) tally.uncompared({ part, walletId, transactions: left.length });
  }

  async #compareHashes(tally: Tally, row: DepositRow, chain: Chain, part: string): Promise<void> {
    const { walletId, transferId, account } = row;
    for (const { mined, nonce, name } of row.steps) {
      if (mined === null) continue;
      const of = { from: account, nonce, hashes: [mined.hash], seenIn: mined };
      const read = await readValue(this.#parts, () => chain.standing(of, NOBODY_WAITS));
      if (read === null) tally.unread({ part, walletId, code: "CHAIN_UNAVAILABLE" });
      else if (read.value.kind !== "mined" && read.value.kind !== "unshown") {
        const text = `${name} ${mined.hash} is not mined`;
        tally.differs({ kind: "TRANSACTION_MISSING", walletId, part, transferId, text, atMs: row.createdAtMs });
      }
    }
  }

  async #compareVenue(
    tally: Tally,
    { walletId, address }: ReconciledWallet,
    rows: readonly TransferRow[],
    { venue, rail }: { readonly venue: RoutableVenue; readonly rail: VenueMoney },
  ): Promise<void> {
    const account = address.toLowerCase();
    const own = rows.filter((row) => row.venue === venue);
    type History = Awaited<ReturnType<VenueMoney["history"]>>;
    const options = NOBODY_WAITS;
    const read = await withSession(
      this.#parts,
      { walletId, venue },
      options,
      async (session): Promise<History | "NO_KEY" | null> => {
        if (session === null && rail.withdrawals.needsKey) return "NO_KEY";
        return answerOf<History | null>(
          this.#parts,
          () => rail.history(account, tally.sinceMs, session, options),
          null,
        );
      },
    );
    // Without a key nothing can have left there, unless the key itself is lost with what a backup lacks.
    const isUntouched = read === "NO_KEY" && !own.some(({ kind }) => kind !== "deposit");
    if (isUntouched && this.#parts.restored() === null) return;
    if (read === null || read === "NO_KEY" || !read.ok) {
      const code = read === null ? "TIMEOUT" : read === "NO_KEY" ? read : read.code;
      // A wallet that never had a key there is read as far as it can be: what it might have sent stays blocked.
      if (!isUntouched) tally.unread({ part: venue, walletId, code });
      // What a wallet without a key deposited, its chain shows.
      const kinds = read === "NO_KEY" ? (["withdrawal", "internal"] as const) : [null];
      for (const kind of kinds) tally.blocks({ ...ANYTHING, reason: "UNREAD", kind, account, venue });
      return;
    }
    tally.compared++;
    const found = compareEntries(own, read.value, { sinceMs: tally.sinceMs, nowMs: this.#parts.clock.wallMs() });
    for (const entry of found.unknownEntries) tally.differs(unknownEntry(entry, walletId, venue));
    for (const row of found.missingRows) tally.differs(missingEntry(row));
    for (const entry of found.unnamedEntries)
      if (entry.atMs >= tally.backupMs && !entry.hasFailed) tally.blocks(blockOf(entry, account, venue));
  }
}

const PARTY = "co-signer";
const NO_ROW = { transferId: null, atMs: null };
const ANYTHING = {
  ...{ kind: null, venue: null, chainId: null, asset: null, amounts: null, kindType: null, venueId: null, atMs: null },
};

/** As far as the ledger knows: all below are used. */
function nonceOf({ book }: Pick<TransferParts, "book">, account: string, chainId: number): number {
  let next = book.nonceAfter(chainId, account);
  const lane = depositLane(chainId, account);
  for (const row of book.open(account))
    if (row.kind === "deposit" && laneOf(row) === lane)
      for (const step of row.steps) if (isSent(step)) next = Math.max(next, step.nonce + 1);
  return next;
}

/** That became final since then. */
function finalDeposits(rows: readonly TransferRow[], chainId: number, sinceMs: number): readonly DepositRow[] {
  return rows.flatMap((row) => {
    const isFinal = row.kind === "deposit" && row.chainId === chainId && row.state === "confirmed";
    return isFinal && row.updatedAtMs >= sinceMs ? [row] : [];
  });
}

function unknownEntry({ kind, amounts, asset, venueId, atMs }: VenueEntry, walletId: string, part: string): Difference {
  const [amount] = amounts;
  // Some venues pad amounts. Text that is no plain number stays as it came.
  const shown = amount === undefined ? "?" : (scaleText(amount, 0) ?? amount);
  const text = `${kind} of ${shown} ${asset}, ${venueId}`;
  return { kind: "UNKNOWN_ENTRY", walletId, part, transferId: null, text, atMs };
}

function missingEntry({ walletId, venue, transferId, kind, venueId, createdAtMs }: TransferRow): Difference {
  const text = `${kind}, ${venueId ?? "without the venue's id"}`;
  return { kind: "MISSING_ENTRY", walletId, part: venue, transferId, text, atMs: createdAtMs };
}

function blockOf(entry: VenueEntry, account: string, venue: RoutableVenue): TransferBlock {
  const { kind, chainId, asset, amounts, kindType, venueId, atMs, isFeeOpen = false } = entry;
  return { reason: "FOUND", kind, account, venue, chainId, asset, amounts, isFeeOpen, kindType, venueId, atMs };
}

/** What one run has found so far. */
class Tally {
  readonly sinceMs: number;
  readonly backupMs: number;
  readonly isRestored: boolean;
  compared = 0;
  readonly #differences: Difference[] = [];
  readonly #counts = new Map<DifferenceKind, number>();
  readonly #unread: UnreadPart[] = [];
  readonly #unreadParts = new Set<string>();
  #unreadCount = 0;
  readonly #uncompared: UncomparedPart[] = [];
  #uncomparedCount = 0;
  readonly #blocks: TransferBlock[] = [];
  readonly #nonces: ReconcileFindings["nonces"][number][] = [];

  constructor(sinceMs: number, backupMs: number, isRestored: boolean) {
    this.sinceMs = sinceMs;
    this.backupMs = backupMs;
    this.isRestored = isRestored;
  }

  differs(difference: Difference): void {
    this.#counts.set(difference.kind, (this.#counts.get(difference.kind) ?? 0) + 1);
    if (this.#differences.length < LISTED_MAX) this.#differences.push(difference);
  }

  unread(part: UnreadPart): void {
    this.#unreadCount++;
    this.#unreadParts.add(part.part);
    if (this.#unread.length < LISTED_MAX) this.#unread.push(part);
  }

  uncompared(part: UncomparedPart): void {
    this.#uncomparedCount += part.transactions;
    if (this.#uncompared.length < LISTED_MAX) this.#uncompared.push(part);
  }

  /** Of a store that was put back alone. */
  blocks(block: TransferBlock): void {
    if (this.isRestored) this.#blocks.push(block);
  }

  final(nonce: ReconcileFindings["nonces"][number]): void {
    this.#nonces.push(nonce);
  }

  ended(run: Pick<ReconcileReport, "startedAtMs" | "endedAtMs" | "wallets" | "restored">): ReconcileRun {
    const differenceCounts = Object.fromEntries(
      DIFFERENCE_KINDS.map((kind) => [kind, this.#counts.get(kind) ?? 0]),
    ) as Record<DifferenceKind, number>;
    const report: ReconcileReport = {
      ...{ ...run, sinceMs: this.sinceMs, compared: this.compared },
      ...{ differences: this.#differences, differenceCounts, unread: this.#unread, unreadCount: this.#unreadCount },
      unreadParts: [...this.#unreadParts].sort(),
      ...{ uncompared: this.#uncompared, uncomparedCount: this.#uncomparedCount },
    };
    return { report, findings: { blocks: this.#blocks, nonces: this.#nonces } };
  }
}
