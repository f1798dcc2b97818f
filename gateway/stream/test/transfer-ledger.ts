/** A real ledger of transfers over a store whose reads and commits a test holds up, and wallets by owner. */
import type { Wallet } from "../../../engine/custody/provider/wallet-provider.js";
import { completeStore } from "../../../engine/storage/state-store.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { TransferBook } from "../../../engine/transfers/transfer-book.js";
import type { InternalRow, TransferState } from "../../../engine/transfers/transfer-row.js";
import type { StreamTransfers } from "../transfer-topic.js";

type Held = (call: "read" | "commit") => Promise<void>;

export class TestLedger {
  readonly memory = createMemoryStore();
  readonly wallets: Wallet[] = [];
  /** Awaited before a read answers with what it has read, and before a commit that is durable is acknowledged. */
  held: Held = async () => {};
  readonly book: TransferBook;
  #made = 0;

  constructor() {
    const { memory } = this;
    const late = async <T>(call: "read" | "commit", result: Promise<T>): Promise<T> => {
      const value = await result;
      await this.held(call);
      return value;
    };
    this.book = new TransferBook(
      completeStore({
        get: (namespace, key) => late("read", memory.get(namespace, key)),
        scan: (namespace, options) => late("read", memory.scan(namespace, options)),
        commit: (batch) => late("commit", memory.commit(batch)),
        status: () => memory.status(),
        close: () => memory.close(),
      }),
    );
  }

  wallet(ownerId: string | null = null): Wallet {
    const number = this.wallets.length + 1;
    const wallet: Wallet = {
      ...{ ownerId, walletId: uuid("aaaa", number), userId: `user-${number}`, publicKey: "", createdAt: 0 },
      ...{ address: `0xAb${number.toString(16).padStart(38, "0")}`, state: "ACTIVE", epoch: 1 },
    };
    this.wallets.push(wallet);
    return wallet;
  }

  /** The time of a row counts its changes, from 1. */
  async create({ walletId, ownerId, address }: Wallet, createdAtMs = ++this.#made): Promise<InternalRow> {
    const row: InternalRow = {
      ...{ kind: "internal", transferId: uuid("bbbb", this.#made), ownerId, walletId, account: address.toLowerCase() },
      ...{ venue: "venuetwo", requestId: "r", createdAtMs, updatedAtMs: 1, state: "created", reason: null },
      ...{ reasonText: "", venueId: null, asset: "USDT", amount: "5", kindType: "SPOT_FUTURE" },
      ...{ clientTranId: `t-${this.#made}`, sentAtMs: null, lastSentAtMs: null, isRefusedAgain: false },
    };
    await this.book.create(row, []);
    return row;
  }

  change(transferId: string, state: TransferState): Promise<unknown> {
    const row = this.book.current(transferId);
    if (row === undefined) throw new Error(`${transferId} is over`);
    return this.book.update(row as InternalRow, (one) => ({
      ...{ ...one, state, updatedAtMs: one.updatedAtMs + 1, sentAtMs: 7, lastSentAtMs: 7 },
      reason: state === "failed" ? "VENUE_REFUSED" : null,
    }));
  }

  /** Created, and confirmed at once. */
  async ended(wallet: Wallet): Promise<string> {
    const { transferId } = await this.create(wallet);
    await this.change(transferId, "confirmed");
    return transferId;
  }

  get parts(): Pick<StreamTransfers, "ledger" | "wallets" | "explorers"> {
    const ofOwner = (ownerId: string | null) => this.wallets.filter((one) => one.ownerId === ownerId);
    return {
      ledger: this.book,
      explorers: new Map(),
      wallets: {
        find: (name, ownerId) =>
          ofOwner(ownerId).find(
            ({ walletId, address, userId }) =>
              walletId === name || userId === name || address.toLowerCase() === name.toLowerCase(),
          ) ?? null,
        list: (ownerId) => ({ wallets: ofOwner(ownerId), next: null }),
      },
    };
  }
}

function uuid(kind: string, number: number): string {
  return `0000${kind}-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}
