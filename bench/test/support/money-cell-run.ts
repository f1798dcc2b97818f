/**
 * One cell of the kill matrix: a wallet of its own, brought to its point and looked at there, and judged when its transfer
 * has ended. Nothing here waits for time to pass: a request that is held, or a row of the ledger, says when it is there.
 */
import type { Reply } from "../../../gateway/test/client.js";
import type { Hex } from "viem";
import { expect } from "vitest";
import { onceServed } from "./custody-bench.js";
import type { Hold, HoldingProxy, SeenRequest } from "./holding-proxy.js";
import { asked, codeOf, done, type RowFields } from "./money-asks.js";
import { isKnownToChain, payoutsOnChain, withdrawalsTaken } from "./money-books.js";
import { CellJudge } from "./money-cell-judge.js";
import { CellMoney } from "./money-cell-money.js";
import { type Cell, kindOf, nameOf, planOfCell, staysUnknown } from "./money-cells.js";
import type { MoneyService, MoneyStand } from "./money-stand.js";
import { found, within } from "./system.js";

export class CellRun {
  readonly cell: Cell;
  readonly name: string;
  readonly #stand: MoneyStand;
  readonly #service: MoneyService;
  readonly #serial: number;
  readonly #sentNonces = new Set<number>();
  readonly #hashes = new Set<string>();
  readonly #ends: (() => void)[] = [];
  #money: CellMoney | null = null;
  #judge: CellJudge | null = null;
  #nonceRule: Hold | null = null;
  #pointRule: Hold | null = null;
  #request: Promise<Reply | null> = Promise.resolve(null);

  /** `serial`: no other cell of the run has it. */
  constructor(stand: MoneyStand, service: MoneyService, cell: Cell, serial: number) {
    this.#stand = stand;
    this.#service = service;
    this.cell = cell;
    this.#serial = serial;
    this.name = `${nameOf(cell)} (${serial})`;
  }

  get money(): CellMoney {
    if (this.#money === null) throw new Error("no wallet yet");
    return this.#money;
  }

  get judge(): CellJudge {
    if (this.#judge === null) throw new Error("no wallet yet");
    return this.#judge;
  }

  get #stepIndex(): number {
    return this.cell.step === null ? 0 : planOfCell(this.cell).indexOf(this.cell.step);
  }

  /** A wallet with what the transfer takes. */
  async begin(): Promise<void> {
    const { cell } = this;
    this.#money = new CellMoney(cell, await this.#service.borrowed(), this.#serial);
    this.#judge = new CellJudge(this.#stand, this.#service, this.money, this.name);
    await this.#fund();
    await this.judge.begin();
  }

  /** Up to the point where nothing passes by itself. */
  async prepare(): Promise<void> {
    const kind = kindOf(this.cell);
    if (kind === "deposit") return this.#prepareDeposit();
    const { at } = this.cell;
    if (at === "arrived") return this.#arrivedWithdrawal();
    if (at === "lost" || at === "unheard") return this.#unknownAct();
    if (at === "pending") return this.#pendingWithdrawal();
  }

  /** On a chain that makes no blocks by itself now: into one block, and then into the pool. Others do nothing. */
  async inBlock(): Promise<void> {
    if (this.cell.at !== "mined") return;
    if (kindOf(this.cell) === "deposit") {
      await this.#sendDeposit();
      await this.#stand.world.chain(this.money.chainId).mine();
      const index = this.#stepIndex;
      await this.#row("is mined", ({ steps }) => (steps[index]?.confirmations ?? 0) > 0);
      return;
    }
    this.#ask();
    await this.#row("is at the venue", ({ state }) => state === "broadcast");
    const before = await payoutsOnChain(this.#stand, this.money.payout);
    await found("the payout is in a block", async () => {
      // The bridge pays by two transactions, the second two blocks behind the first.
      await this.#stand.world.chain(this.money.chainId).mine();
      const now = await payoutsOnChain(this.#stand, this.money.payout);
      return now.length > before.length ? true : null;
    });
  }

  async inPool(): Promise<void> {
    if (this.cell.at !== "unmined") return;
    if (kindOf(this.cell) === "deposit") return this.#sendDeposit();
    this.#ask();
    await this.#row("is at the venue", ({ state }) => state === "broadcast");
    await this.#payoutWaits();
  }

  /** To a point that passes by, or that waits for the co-signer. `isLinkHeld`: it is, and nothing comes of a signature. */
  async go(): Promise<void> {
    const { at } = this.cell;
    if (at !== "signed" && at !== "sent" && at !== "signing") return;
    if (at !== "signing")
      this.#pointRule = this.#pointProxy().add({ kind: at === "signed" ? "hold" : "reply" }, this.#isPoint);
    if (kindOf(this.cell) === "deposit") this.#nonceRule?.release();
    else this.#ask();
    await Promise.race([this.#pointRule?.arrived, this.#answeredEarly()]);
  }

  /** Where the request is answered before it comes to its point, the reply says why. */
  async #answeredEarly(): Promise<never> {
    const reply = await this.#request;
    if (this.#pointRule === null || this.#pointRule.count > 0) return new Promise(() => {});
    throw new Error(`${this.name} was answered before its point: ${JSON.stringify(reply?.body ?? null)}`);
  }

  /** Whether the row and the outside are where the cell says. Null: not now, and perhaps no more. */
  async isThere(): Promise<boolean> {
    const row = await this.judge.ownRow();
    return row !== undefined && this.#isPointOf(row) && (await this.#isOutsideAsSaid(row));
  }

  async untilThere(): Promise<void> {
    let last: unknown = null;
    const look = async (): Promise<true | null> => {
      const row = await this.judge.ownRow();
      last = row;
      // A signer that is held is given up in seconds: on a slow machine before anybody looks.
      const isOver = this.cell.at === "signing" && row?.state === "failed";
      return isOver || (await this.isThere()) ? true : null;
    };
    await found(() => `${this.name} is there: ${JSON.stringify(last)}`, look);
  }

  isAbout({ text, transaction }: SeenRequest): boolean {
    return text.includes(this.money.address) || transaction?.from === this.money.address;
  }

  /** What was under way in the life that ended. */
  async forget(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.#request;
  }

  /** The same request under the same key, in a later life; then the end of its row, and the judge. */
  async settle(): Promise<void> {
    const { caller } = this.#service;
    const reply = await onceServed(() => asked(caller, this.money.ask()));
    const { transferId } = done(reply);
    const row = await this.judge.ended(transferId);
    await this.judge.judge(row);
    if (!staysUnknown(this.cell)) this.#service.giveBack(this.money.wallet);
    else {
      const second = await asked(caller, {
        ...this.money.ask(),
        headers: { "idempotency-key": `second-${this.#serial}` },
      });
      expect(codeOf(second), this.name).toEqual([409, "TRANSFER_IN_PROGRESS"]);
    }
  }

  async #fund(): Promise<void> {
    if (kindOf(this.cell) !== "deposit") return;
    const { world } = this.#stand;
    const to = this.money.address as Hex;
    await world.mint({ chainId: this.money.chainId, token: this.money.symbol, to, amount: this.money.amount });
    if (planOfCell(this.cell).includes("reset")) await this.#stand.leaveAllowance(this.money.chainId, to);
    await world.setCoins(this.money.chainId, to, "1");
  }

  async #prepareDeposit(): Promise<void> {
    const proxy = this.#stand.proxy(this.money.chainId);
    const index = this.#stepIndex;
    const { at } = this.cell;
    this.#ends.push(
      proxy.watch(({ transaction }) => {
        if (transaction?.from !== this.money.address) return;
        this.#sentNonces.add(transaction.nonce);
        this.#hashes.add(transaction.hash);
      }),
    );
    const isNonceRead = ({ method, text }: SeenRequest) =>
      method === "eth_gettransactioncount" && text.includes(this.money.address) && text.includes("pending");
    const isNext = (seen: SeenRequest) => isNonceRead({ ...seen, method: seen.method.toLowerCase() });
    if (at === "arrived") return this.#arrivedDeposit();
    // The step behind the point does not begin, and the point's own waits for `go`.
    proxy.add({ kind: "away" }, (seen) => this.#sentNonces.size > index && isNext(seen));
    if (at === "lost" || at === "unheard") {
      const rule = proxy.add({ kind: at === "lost" ? "lost" : "away" }, this.#isPoint);
      proxy.add({ kind: "away" }, (seen) => rule.count > 0 && this.#isRead(seen));
      this.#ask();
      return this.untilThere();
    }
    this.#nonceRule = proxy.add({ kind: "away" }, (seen) => this.#sentNonces.size === index && isNext(seen));
    this.#ask();
    await this.#nonceRule.arrived;
    if (at === "created") return this.untilThere();
  }

  /** Through to the block in which the step is sent, and known to the service as taken. */
  async #sendDeposit(): Promise<void> {
    const proxy = this.#stand.proxy(this.money.chainId);
    const sent = proxy.add({ kind: "reply" }, this.#isPoint);
    this.#nonceRule?.release();
    const { transaction } = await sent.arrived;
    sent.release();
    // The next look at it comes behind the commit that says that it was taken.
    await within("the transaction is looked at", seenNext(proxy, transaction?.hash ?? ""));
  }

  async #arrivedDeposit(): Promise<void> {
    this.#hideHistory();
    this.#ask();
    await found("the venue has credited it", async () => (this.judge.gained() > 0n ? true : null));
    await this.untilThere();
  }

  async #arrivedWithdrawal(): Promise<void> {
    const before = (await payoutsOnChain(this.#stand, this.money.payout)).length;
    this.#hideHistory();
    this.#ask();
    await found("it is paid", async () =>
      (await payoutsOnChain(this.#stand, this.money.payout)).length > before && !this.#isOpenAtVenue() ? true : null,
    );
    await this.untilThere();
  }

  async #unknownAct(): Promise<void> {
    const proxy = this.#pointProxy();
    const rule = proxy.add({ kind: this.cell.at === "lost" ? "lost" : "away" }, this.#isPoint);
    proxy.add({ kind: "away" }, (seen) => rule.count > 0 && this.#isHistory(seen));
    this.#ask();
    await this.untilThere();
  }

  async #pendingWithdrawal(): Promise<void> {
    this.#stand.holdPayouts(this.money.venue, true);
    this.#ask();
    await this.untilThere();
  }

  #hideHistory(): void {
    this.#stand.proxy(this.money.venue).add({ kind: "away" }, (seen) => this.#isHistory(seen));
  }

  #pointProxy(): HoldingProxy {
    return this.#stand.proxy(kindOf(this.cell) === "deposit" ? this.money.chainId : this.money.venue);
  }

  readonly #isPoint = ({ route, text, transaction }: SeenRequest): boolean => {
    switch (kindOf(this.cell)) {
      case "deposit":
        return (
          transaction?.from === this.money.address && transaction.nonce === this.judge.before.sent + this.#stepIndex
        );
      case "withdrawal":
        if (this.money.venue === "venueone")
          return route === "POST /exchange" && text.includes(`"${this.money.amount}"`);
        return route.endsWith("/aster/user-withdraw") && text.includes(this.money.address);
      case "internal":
        return route.endsWith("/asset/wallet/transfer") && text.includes(this.money.tranId.toLowerCase());
    }
  };

  #isHistory({ route, text }: SeenRequest): boolean {
    if (!text.includes(this.money.address)) return false;
    if (this.money.venue === "venueone") return text.includes("usernonfundingledgerupdates");
    return route.endsWith("/deposit-withdraw-history") || route.endsWith("/income");
  }

  #isRead(seen: SeenRequest): boolean {
    const isAbout =
      seen.text.includes(this.money.address) || [...this.#hashes].some((hash) => seen.text.includes(hash));
    return isAbout || seen.transaction?.from === this.money.address;
  }

  #ask(): void {
    this.#request = asked(this.#service.caller, this.money.ask()).catch(() => null);
  }

  #row(what: string, holds: (row: RowFields) => boolean): Promise<RowFields> {
    return found(`${this.name} ${what}`, async () => {
      const row = await this.judge.ownRow();
      return row !== undefined && holds(row) ? row : null;
    });
  }

  #isPointOf({ state, steps, venueId }: RowFields): boolean {
    const { at } = this.cell;
    const index = this.#stepIndex;
    const step = steps[index];
    const isDeposit = kindOf(this.cell) === "deposit";
    const isAlone = steps.length === index + 1;
    const begun = index === 0 ? "created" : "broadcast";
    switch (at) {
      case "created":
        return state === "created" && steps.length === 0;
      case "signing":
        return isDeposit ? state === begun && isAlone && step?.txHash === null : state === "created";
      case "signed":
      case "sent":
        if (!isDeposit) return state === "signed";
        return isAlone && step?.txHash !== null && state === (index === 0 ? "signed" : "broadcast");
      case "lost":
      case "unheard":
        return state === "unknown" && (!isDeposit || isAlone);
      case "unmined":
        return state === "broadcast" && (!isDeposit || (isAlone && step?.confirmations === 0));
      case "mined":
        return state === "broadcast" && (!isDeposit || (isAlone && step?.confirmations === 1 && !step.isFinal));
      case "pending":
        return state === "broadcast";
      case "arrived":
        return isDeposit ? state === "confirmed" && venueId === null : state === "broadcast";
    }
  }

  /** What is to have happened on the other side has, and no more than that. */
  async #isOutsideAsSaid({ steps }: RowFields): Promise<boolean> {
    const { at } = this.cell;
    if (at === "created" || at === "signing" || at === "arrived") return true;
    const isThere = at !== "signed" && at !== "unheard";
    if (kindOf(this.cell) === "deposit") {
      const hash = steps[this.#stepIndex]?.txHash ?? "";
      return (await isKnownToChain(this.#stand, this.money.chainId, hash)) === isThere;
    }
    if (kindOf(this.cell) === "internal") return (this.judge.books().perp !== this.judge.before.books.perp) === isThere;
    return (
      withdrawalsTaken(this.#stand.pair, this.money.venue, this.money.address) > this.judge.before.taken === isThere
    );
  }

  #isOpenAtVenue(): boolean {
    const { pair } = this.#stand;
    const treasury =
      this.money.venue === "venueone" ? pair.venueone.room.bridge?.treasury : pair.venuetwo.room.money.treasury;
    return (treasury?.open.length ?? 0) > 0;
  }

  /** In a pool that makes no block of it. */
  async #payoutWaits(): Promise<void> {
    const { rpc } = this.#stand.world.chain(this.money.chainId);
    await found("the payout waits in the pool", async () => {
      const { pending } = (await rpc("txpool_status", [])) as { readonly pending: Hex };
      return BigInt(pending) > 0n ? true : null;
    });
  }
}

/** Once the chain is asked for its receipt. */
function seenNext(proxy: HoldingProxy, hash: string): Promise<void> {
  return new Promise((resolve) => {
    const end = proxy.watch(({ method, text }) => {
      if (method !== "eth_getTransactionReceipt" || !text.includes(hash)) return;
      end();
      resolve();
    });
  });
}
