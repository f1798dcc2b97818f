/**
 * One operation from its checks to its end: funds, approval, simulation, signature, block, keeper. Invariant: the wallet is
 * asked only for what the newest state of the chain would take.
 */
import type { Address, Hex, TransactionReceipt } from "viem";
import { unavailable, withoutGas } from "./chain-node.js";
import type { ChainReader } from "./chain-reader.js";
import { approveCall, type ContractCall } from "./contract-calls.js";
import { executed } from "./execution.js";
import { type Mined, TransactionFollower } from "./follow.js";
import { checkedWaitFor, type TradingConfig, type WaitFor } from "./options.js";
import { usdcText } from "./quantities.js";
import { eventOf, type ExpectedEvent, WAITING_ORDER } from "./receipt-events.js";
import { sentBefore } from "./resume.js";
import { nextTurn } from "./send-turns.js";
import type { OnStep, VenuefiveOperation, VenuefiveStep } from "./steps.js";
import { typedError, VenuefiveTradeError, type VenuefiveStage, withFacts } from "./trade-error.js";
import {
  checkChain,
  connectedSigner,
  nonceCounted,
  nonceUnused,
  nonceUsed,
  send,
  type SentTransaction,
  type Signer,
  walletAddress,
} from "./wallet.js";
import { callListener } from "./call-listener.js";
import { isShown } from "./within.js";

/** Of one call, in the place of what was set for all. */
export interface OperationOptions {
  readonly waitFor?: WaitFor | undefined;
  /** Beside that of the trading. */
  readonly onStep?: OnStep | undefined;
}

export interface TransactionPlan {
  /** Made again after an approval, since oracle bytes age. */
  readonly call: () => Promise<ContractCall>;
  /** USDC that the storage will pull. */
  readonly spendsE6: bigint;
  /** What its receipt shows where the contract does it. A waiting order among them is ended by the keeper. */
  readonly expects: readonly ExpectedEvent[];
}

export type Prepare = (signer: Signer, step: (step: VenuefiveStep) => void) => Promise<TransactionPlan>;

const MAX_ALLOWANCE = 2n ** 256n - 1n;
/** Below what any approval and its order take, so nothing is refused that could be paid. */
const GAS_MIN = 150_000n;
const ABOUT_ALLOWANCE = /allowance/i;

export class Transact {
  readonly #config: TradingConfig;
  readonly #reader: ChainReader;
  readonly #operation: VenuefiveOperation;
  readonly #waitFor: WaitFor;
  readonly #listeners: readonly OnStep[];
  #approveTxHash: Hex | null = null;

  constructor(
    config: TradingConfig,
    reader: ChainReader,
    operation: VenuefiveOperation,
    { waitFor, onStep }: OperationOptions = {},
  ) {
    this.#config = config;
    this.#reader = reader;
    this.#operation = operation;
    this.#waitFor = checkedWaitFor(waitFor ?? config.waitFor);
    this.#listeners = [config.onStep, onStep].filter((listener) => typeof listener === "function");
  }

  /** Resolves with the hash under which the transaction is on its way, or in its block. */
  async run(prepare: Prepare): Promise<Hex> {
    const address = await walletAddress(this.#config, this.#reader);
    const endTurn = await nextTurn(address);
    let sent: SentTransaction;
    let signer: Signer;
    let plan: TransactionPlan;
    try {
      signer = await connectedSigner(this.#config, this.#reader, address);
      await this.#reader.node.caughtUp();
      await nonceCounted(this.#config, this.#reader, address);
      plan = await prepare(signer, this.#step);
      sent = await this.#sent(signer, plan);
    } catch (error) {
      endTurn();
      throw this.#told(error);
    }
    const mining = this.#mined(sent, "trade").finally(endTurn);
    if (this.#waitFor !== "sent") return this.#concluded(signer, plan.expects, mining);
    // The caller has the hash and asked for no more; the turn ends with the block all the same.
    mining.catch(() => {});
    if (sent.doubt !== null) throw this.#told(sent.doubt);
    return sent.hash;
  }

  /** It takes no turn, since it asks for no signature. */
  async resume(txHash: Hex): Promise<Hex> {
    const signer = await connectedSigner(this.#config, this.#reader, await walletAddress(this.#config, this.#reader));
    const { sent, expects } = await sentBefore(this.#config, this.#reader, signer, txHash);
    return this.#concluded(signer, expects, this.#mined(sent, "trade"));
  }

  async #sent(signer: Signer, plan: TransactionPlan): Promise<SentTransaction> {
    const first = await plan.call();
    await this.#checkFunds(signer, plan.spendsE6, first.value);
    const call = await this.#allowed(signer, plan, first);
    this.#step({ step: "sign" });
    return this.#send(signer, call, "trade");
  }

  async #concluded(signer: Signer, expects: readonly ExpectedEvent[], mining: Promise<Mined>): Promise<Hex> {
    let txHash: Hex | null = null;
    try {
      const { receipt, hash } = await mining;
      txHash = hash;
      const { orderId, missing } = this.#shownIn(receipt, signer, expects);
      const id = orderId === null ? null : String(orderId);
      this.#step({ step: "mined", txHash, blockNumber: String(receipt.blockNumber), orderId: id });
      if (missing !== undefined) throw unexpected(txHash, missing);
      if (this.#waitFor !== "executed" || orderId === null || id === null) return txHash;
      const waiting = { receipt, orderId, trader: signer.address };
      const execution = await executed(this.#config, this.#reader, waiting);
      this.#step({ step: "executed", txHash, orderId: id, ...execution });
      return txHash;
    } catch (error) {
      throw this.#told(error, txHash);
    }
  }

  /** A receipt of success alone proves nothing: the contract may have left things as they were, or done something else. */
  #shownIn(receipt: TransactionReceipt, { address }: Signer, expects: readonly ExpectedEvent[]) {
    const { Trading } = this.#config.addresses;
    const events = expects.map((event) => eventOf(receipt, Trading, address, event));
    const waiting = events[expects.findIndex(({ name }) => name === WAITING_ORDER)]?.["orderId"];
    const orderId = typeof waiting === "bigint" ? waiting : null;
    return { orderId, missing: expects.find((_, at) => events[at] === null)?.name };
  }

  /** An approval is for nothing where the order after it cannot be paid. */
  async #checkGas({ address }: Signer, wei: bigint): Promise<void> {
    const gasPrice = await this.#reader.node.gasPrice().catch(() => 0n);
    await this.#checkCoins(address, wei + gasPrice * GAS_MIN);
  }

  async #checkFunds({ address }: Signer, spendsE6: bigint, wei: bigint): Promise<void> {
    const usdc = spendsE6 === 0n ? 0n : await this.#reader.usdc(address);
    if (usdc < spendsE6)
      throw new VenuefiveTradeError("INSUFFICIENT_USDC", "the account has less USDC than the order takes", {
        details: { balance: usdcText(usdc), needed: usdcText(spendsE6) },
      });
    await this.#checkCoins(address, wei);
  }

  async #checkCoins(address: Address, wei: bigint): Promise<void> {
    const coins = await this.#reader.node.coins(address);
    if (coins < wei) throw withoutGas({ details: { balanceWei: String(coins), neededWei: String(wei) } });
  }

  /** Returns the call that the contract would take now, after an approval where one is needed. */
  async #allowed(signer: Signer, plan: TransactionPlan, first: ContractCall): Promise<ContractCall> {
    const { spendsE6 } = plan;
    const isShort = spendsE6 > 0n && (await this.#reader.allowance(signer.address)) < spendsE6;
    const refusal = await this.#refusal(first, signer);
    if (!isShort) {
      if (refusal !== null) throw refusal;
      return first;
    }
    // The last thing that an order's contract looks at: with another refusal the approval would be for nothing.
    if (refusal !== null && !isAboutAllowance(refusal)) throw refusal;
    await this.#checkGas(signer, first.value);
    await this.#approve(signer, spendsE6);
    return this.#takenAfterApproval(signer, plan);
  }

  async #approve(signer: Signer, spendsE6: bigint): Promise<void> {
    const { approve, addresses } = this.#config;
    const amount = approve === "max" ? MAX_ALLOWANCE : spendsE6;
    const call = approveCall(addresses.USDC, addresses.TradingStorage, amount);
    const refusal = await this.#refusal(call, signer, "approve");
    if (refusal !== null) throw refusal;
    const shown = approve === "max" ? "max" : usdcText(amount);
    this.#step({ step: "approve", spender: addresses.TradingStorage, amount: shown });
    const sent = await this.#send(signer, call, "approve");
    this.#approveTxHash = sent.hash;
    const { hash } = await this.#mined(sent, "approve");
    this.#approveTxHash = hash;
    this.#step({ step: "approve-mined", txHash: hash });
  }

  /** A node that lags behind the approval's receipt refuses for want of it; that passes. */
  async #takenAfterApproval(signer: Signer, { call, spendsE6 }: TransactionPlan): Promise<ContractCall> {
    let allowance = 0n;
    let made = null as ContractCall | null;
    const isTaken = await isShown(this.#config, async () => {
      allowance = await this.#reader.allowance(signer.address);
      if (allowance < spendsE6) return false;
      made = await call();
      const refusal = await this.#refusal(made, signer);
      if (refusal !== null && !isAboutAllowance(refusal)) throw refusal;
      return refusal === null;
    });
    if (isTaken && made !== null) return made;
    throw new VenuefiveTradeError("INSUFFICIENT_ALLOWANCE", "the chain shows no allowance that is large enough", {
      details: { allowance: usdcText(allowance), needed: usdcText(spendsE6) },
    });
  }

  /** Null: the contract would take it. Throws where the chain gives no answer. */
  async #refusal(
    call: ContractCall,
    { address }: Signer,
    stage: VenuefiveStage = "trade",
  ): Promise<VenuefiveTradeError | null> {
    try {
      await this.#reader.node.simulate(call, address);
      return null;
    } catch (error) {
      const refusal = unavailable(error, stage);
      if (refusal.code === "REVERTED") return refusal;
      throw refusal;
    }
  }

  async #send(signer: Signer, call: ContractCall, stage: VenuefiveStage): Promise<SentTransaction> {
    const afterBlock = await this.#reader.node.blockNumber();
    const show = (txHash: Hex): void => {
      if (stage === "trade") this.#step({ step: "sent", txHash, replaces: null });
    };
    // Once more, right before the wallet asks; nothing has left where this fails.
    await checkChain(this.#config, signer.client, this.#reader, stage);
    const sent = await send(this.#config, signer, { call, stage, afterBlock, onLate: show });
    show(sent.hash);
    return sent;
  }

  async #mined(sent: SentTransaction, stage: VenuefiveStage): Promise<Mined> {
    const replaced = (txHash: Hex, replaces: Hex): void => {
      if (stage === "trade") this.#step({ step: "sent", txHash, replaces });
    };
    const following = new TransactionFollower(this.#config, this.#reader, sent, { stage, replaced }).mined();
    return following.then(
      (mined) => {
        nonceUsed(this.#config, sent);
        return mined;
      },
      (error: unknown) => {
        // Reverted, cancelled or replaced: in a block all the same.
        const isUsed = error instanceof VenuefiveTradeError && error.outcome === "failed";
        (isUsed ? nonceUsed : nonceUnused)(this.#config, sent);
        throw error;
      },
    );
  }

  /** A listener's own failure is its own: an order is under way. */
  readonly #step = (step: VenuefiveStep): void => {
    for (const listener of this.#listeners) callListener(() => listener({ ...step, operation: this.#operation }));
  };

  /** With the hash of what was sent, and which approval went before. */
  #told(thrown: unknown, txHash: Hex | null = null): VenuefiveTradeError {
    const approveTxHash = this.#approveTxHash;
    if (txHash === null && approveTxHash === null) return typedError(thrown);
    return withFacts(typedError(thrown), { txHash, details: approveTxHash === null ? {} : { approveTxHash } });
  }
}

const unexpected = (txHash: Hex, missing: string): VenuefiveTradeError =>
  new VenuefiveTradeError("UNEXPECTED_RECEIPT", `the receipt does not show what was asked: it has no ${missing}`, {
    ...{ outcome: "unknown", txHash, details: { missing } },
  });

const isAboutAllowance = ({ details }: VenuefiveTradeError): boolean =>
  typeof details["reason"] === "string" && ABOUT_ALLOWANCE.test(details["reason"]);
