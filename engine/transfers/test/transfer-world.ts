/**
 * A service with one wallet, its ledger, a chain and two venues, over several lives: a life ends before or after any act
 * on the outside (a commit, a signature, a send, a look), and the next one begins from what is durable.
 */
import type { ServiceError } from "../../domain/errors.js";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createMemoryStore, type MemoryStore } from "../../storage/test/memory-store.js";
import { type Death, MortalLife, outcomeOf } from "../../storage/test/mortal-life.js";
import type { SigningRequest } from "../../custody/provider/wallet-provider.js";
import type { DepositAsk, InternalAsk, WithdrawalAsk } from "../openings.js";
import { Rounds } from "../rounds.js";
import { TransferBook } from "../transfer-book.js";
import { TransferKeeper } from "../transfer-keeper.js";
import type { TransferParts } from "../transfer-parts.js";
import { NO_TRANSFER_RECORD, type TransferRecord } from "../transfer-record.js";
import type { TransferRow } from "../transfer-row.js";
import { Transfers } from "../transfers.js";
import { CHAIN_ID, CONFIRMATIONS, FakeChain } from "./fake-chain.js";
import { FakeMoney } from "./fake-money.js";
import { ACCOUNT, signedWith } from "./fake-signer.js";

export const WALLET_ID = "5f0c7c3e-6f6b-4f0e-9a53-0a4c8f1f2d10";
export const START = { token: 10n ** 15n, native: 10n ** 18n } as const;

export interface Life {
  readonly transfers: Transfers;
  readonly keeper: TransferKeeper;
  readonly book: TransferBook;
  readonly isDead: () => boolean;
  readonly acts: () => number;
}

/** Of the rows that a judge reads at a time. */
export const PAGE_ROWS = 7;
const DEPOSIT_WAIT_MS = 20_000;

export class TransferWorld {
  readonly clock = new VirtualClock();
  readonly chain = new FakeChain(this.clock, ACCOUNT, START);
  readonly named = new FakeMoney(this.clock, this.chain, "named", 10n ** 12n);
  readonly listed = new FakeMoney(this.clock, this.chain, "listed", 10n ** 12n);
  readonly store: MemoryStore = createMemoryStore();
  /** What was signed, in order. */
  readonly signed: SigningRequest[] = [];
  /** What the signer answers; null: it signs. */
  signerError: ServiceError | null = null;
  /** The count of the store, as the next life has it. */
  instance: TransferParts["instance"] = null;
  /** As the next life is configured. */
  hasChain = true;
  /** What was found wrong at a change of a row. */
  readonly wrongs: string[] = [];
  /** States in which a life ended, with how often. */
  readonly deathStates = new Map<string, number>();
  readonly #last = new Map<string, TransferRow>();
  readonly #record: TransferRecord;
  #serial = 0;
  #keeper: TransferKeeper | null = null;

  constructor(record: TransferRecord = NO_TRANSFER_RECORD) {
    this.#record = record;
  }

  async live(death: Death | null = null, maxWaitMs = DEPOSIT_WAIT_MS): Promise<Life> {
    const mortal: MortalLife = new MortalLife(death, () => {
      for (const { kind, state } of book.open()) {
        const name = `${kind}/${state}`;
        this.deathStates.set(name, (this.deathStates.get(name) ?? 0) + 1);
      }
    });
    const { gate, isDead, acts } = mortal;
    const book: TransferBook = new TransferBook(mortal.store(this.store), this.#record);
    const parts: TransferParts = {
      book,
      signer: {
        sign: async (_walletId, _origin, request) => {
          await this.instance?.witnessed();
          return gate(async () => {
            if (this.signerError !== null) throw this.signerError;
            this.signed.push(request);
            return signedWith(request);
          });
        },
      },
      chains: new Map(this.hasChain ? [[CHAIN_ID, this.chain.port(gate)]] : []),
      rails: new Map([this.named, this.listed].map((money) => [money.venue, money.port(gate)])),
      openSession: async (_walletId, venue, payer) => (venue === "venueone" ? this.named : this.listed).session(payer),
      ...{ instance: this.instance, blocks: { assertFree() {} } },
      clock: this.clock,
      newId: () => this.newId(),
      logger: silentLogger,
    };
    await book.load();
    book.listen((row) => this.#heard(row));
    // Of the life before: its timers go with it.
    void this.#keeper?.stop();
    const rounds = new Rounds(parts);
    this.#keeper = new TransferKeeper(parts, rounds);
    const transfers = new Transfers(parts, rounds, { depositWaitMs: maxWaitMs, lookMs: 500 });
    return { transfers, keeper: this.#keeper, book, isDead, acts };
  }

  /** As no life of its own sees them. */
  rails(): TransferParts["rails"] {
    return new Map([this.named, this.listed].map((money) => [money.venue, money.port((act) => act())]));
  }

  newId(): string {
    return `00000000-0000-4000-8000-${(++this.#serial).toString(16).padStart(12, "0")}`;
  }

  deposit(money: FakeMoney, amount: bigint, symbol = "USDC"): DepositAsk {
    return { ...this.#asker(money), ...{ chainId: CHAIN_ID, network: "56", symbol, amount, broker: 1_000 } };
  }

  withdrawal(money: FakeMoney, amount: bigint): WithdrawalAsk {
    const asker = { ...this.#asker(money), chainId: CHAIN_ID, network: "56", symbol: "USDC" };
    return { ...asker, amount, amountToCheck: 0n, receiver: ACCOUNT, accountType: null };
  }

  internal(amount: string, clientTranId: string): InternalAsk {
    return { ...this.#asker(this.listed), asset: "USDC", amount, kindType: "SPOT_FUTURE", clientTranId };
  }

  #asker(money: FakeMoney) {
    const { venue } = money;
    return {
      ...{ transferId: null, ownerId: "owner-1", walletId: WALLET_ID, account: ACCOUNT, venue, requestId: "r-1" },
      alongside: () => [],
    };
  }

  /** The outcome of a call while time passes: `done`, the code of a refusal, or `dead`. */
  async outcome(life: Life, call: Promise<unknown>, maxMs = 60_000): Promise<string> {
    return outcomeOf(
      this.clock,
      life,
      call.then(() => "done"),
      { maxMs },
    );
  }

  /** What a call that is not refused returns, while time passes. */
  async answered<T>(life: Life, call: Promise<T>): Promise<T> {
    await this.outcome(life, call);
    return call;
  }

  /** Rejects where the call is not refused. */
  async refusal(life: Life, call: Promise<unknown>): Promise<ServiceError> {
    await this.outcome(life, call);
    return call.then(
      () => {
        throw new Error("it was not refused");
      },
      (error: unknown) => error as ServiceError,
    );
  }

  /** Until nothing is open, at most thirty hours. */
  async untilQuiet(life: Life): Promise<void> {
    life.keeper.start();
    for (let round = 0; round < 220; round++) {
      const counts = life.keeper.counts().filter(({ state }) => state !== "confirmed" && state !== "failed");
      if (life.isDead()) return;
      if (counts.length === 0 && !(await this.#isCreditAwaited(life))) return;
      await this.clock.advanceAsync(round < 40 ? 15_000 : 600_000);
    }
  }

  async rows(life: Life): Promise<TransferRow[]> {
    const rows: TransferRow[] = [];
    let after: string | null = null;
    do {
      const page = await life.transfers.list(WALLET_ID, after, PAGE_ROWS);
      rows.push(...page.rows);
      after = page.next;
    } while (after !== null);
    return rows;
  }

  async #isCreditAwaited(life: Life): Promise<boolean> {
    const rows = await this.rows(life);
    return rows.some((row) => row.kind === "deposit" && row.isCreditAwaited);
  }

  #isPaidOnChain({ venue }: TransferRow): boolean {
    return venue === this.named.venue && this.named.paysOnChain;
  }

  #heard(row: TransferRow): void {
    const before = this.#last.get(row.transferId);
    this.#last.set(row.transferId, row);
    const isOver = before !== undefined && (before.state === "confirmed" || before.state === "failed");
    if (isOver && before.state !== row.state) this.wrongs.push(`${row.kind} went from ${before.state} to ${row.state}`);
    if (row.kind === "withdrawal" && row.state === "confirmed" && this.#isPaidOnChain(row))
      if ((this.chain.paid().get(row.hash ?? "") ?? 0) < CONFIRMATIONS)
        this.wrongs.push("a withdrawal was confirmed before its payment was final");
    if (row.kind !== "deposit" || row.state !== "confirmed" || before?.state === "confirmed") return;
    const event = this.chain.deposits().find(({ hash }) => hash === row.steps.at(-1)?.mined?.hash);
    if ((event?.confirmations ?? 0) < CONFIRMATIONS) this.wrongs.push("a deposit was confirmed before it was final");
  }
}

export async function begun(): Promise<{ world: TransferWorld; life: Life }> {
  const world = new TransferWorld();
  return { world, life: await world.live() };
}
