/**
 * A desk of money for tests of the routes: it notes what it is asked for and answers fixed rows. The real one is tested in
 * gateway/accounts, and with venues and chains in bench/test/system.
 */
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { TransferBook } from "../../engine/transfers/transfer-book.js";
import type { TransferRow } from "../../engine/transfers/transfer-row.js";
import type { Token, VenueMoney } from "../../engine/venue-money.js";
import type { DepositData, InternalTransferData, WithdrawData } from "../../schemas/transfers.js";
import type { TransferDeskPort } from "../accounts/transfer-desk.js";
import type { ServedMoney } from "../app/server.js";

const TRANSFER_ID = "7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f";

export const USDT: Token = {
  ...{ chainId: 56, symbol: "USDT", address: `0x${"20".repeat(20)}`, decimals: 18, resetsAllowance: false },
};
export const USDC: Token = {
  ...{ chainId: 42_161, symbol: "USDC", address: `0x${"30".repeat(20)}`, decimals: 6, resetsAllowance: false },
};

const DEPOSIT: DepositData = {
  ...{ txHash: `0x${"4e".repeat(32)}`, txUrl: "", amount: "25.5", token: "USDT", network: "network_56" },
  ...{ decimals: 18, blockNumber: 41, transferId: TRANSFER_ID, status: "broadcast" },
};
const MOVED: InternalTransferData = {
  ...{ tranId: "17", status: "SUCCESS", asset: "USDT", amount: "25.5", kindType: "SPOT_FUTURE" },
  ...{ clientTranId: "t-1", timestamp: 1, transferId: TRANSFER_ID },
};
const WITHDRAWN: WithdrawData = {
  ...{ withdrawalId: "18", status: "submitted", network: "network_56", timestamp: 1, transferId: TRANSFER_ID },
  ...{ amount: "25.5", asset: "USDT", chainId: 56, receiver: "0x", fee: "1", feeIsInside: false },
};

export interface FakeMoneyDesk extends ServedMoney {
  /** What was asked for, in order. */
  readonly asked: { readonly act: string; readonly order: unknown }[];
  readonly rows: Map<string, TransferRow>;
  readonly ledger: TransferBook;
  /** Of the pages asked for. */
  readonly afters: (string | null)[];
  /** What every page says of the next one. */
  next: string | null;
}

export function createFakeMoneyDesk(): FakeMoneyDesk {
  const asked: { act: string; order: unknown }[] = [];
  const rows = new Map<string, TransferRow>();
  const noted = async <T>(act: string, order: unknown, answer: T): Promise<T> => {
    asked.push({ act, order });
    return answer;
  };
  const answered = async <T>(act: string, order: unknown, data: T) => ({
    data: await noted(act, order, data),
    replayed: false,
  });
  // A real one, of no transfers.
  const ledger = new TransferBook(createMemoryStore());
  const desk: TransferDeskPort = {
    deposit: (_wallet, order) => answered("deposit", order, DEPOSIT),
    tryDeposit: (_wallet, order) => noted("tryDeposit", order, DEPOSIT),
    withdraw: (_wallet, order) => answered("withdraw", order, WITHDRAWN),
    tryWithdraw: (_wallet, order) => noted("tryWithdraw", order, WITHDRAWN),
    move: (_wallet, order) => answered("move", order, MOVED),
    tryMove: (_wallet, order) => noted("tryMove", order, MOVED),
    find: async (transferId) => rows.get(transferId) ?? ledger.find(transferId),
    list: async (walletId, after) => {
      fake.afters.push(after);
      return { rows: [...rows.values()].filter((row) => row.walletId === walletId), next: fake.next };
    },
    readBalances: async ({ walletId, address }) => ({ walletId, address, chains: [], venues: [] }),
    explorers: new Map(),
  };
  const railOf = (token: Token) =>
    ({
      deposits: { routes: [{ token }] },
      withdrawals: { token: () => token },
      internal: null,
    }) as unknown as VenueMoney;
  const rails = new Map([
    ["venueone" as const, railOf(USDC)],
    ["venuetwo" as const, railOf(USDT)],
  ]);
  const fake: FakeMoneyDesk = {
    ...{ desk, rails, ledger, asked, rows, afters: [], next: null },
    ...{ counts: () => [], chainStatus: () => [], reconciled: () => ({ isRunning: false, last: null, problem: null }) },
  };
  return fake;
}
