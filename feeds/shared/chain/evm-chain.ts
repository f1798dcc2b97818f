/**
 * One EVM chain over several JSON-RPC endpoints: the port engine/chain.ts. What is only read (balances, prices, estimates)
 * comes from the first endpoint that answers and does not lag; what money is counted on (`isFinal`, `replaced`) takes as
 * many as must agree (`agreement`).
 */
import type { Abi } from "viem";
import type {
  BroadcastOutcome,
  Chain,
  ChainCall,
  GasEstimate,
  GasPrice,
  TransactionStanding,
} from "../../../engine/chain.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { keccak256 } from "../../../engine/custody/digest/bytes.js";
import { type FailedRead, failedRead } from "../net/call-results.js";
import { WireFault } from "../room/wire-fields.js";
import { broadcastOutcome } from "./broadcast-outcome.js";
import { EvmLogs } from "./evm-logs.js";
import { estimateOf } from "./gas-estimate.js";
import { type GasLimits, gasPriceOf } from "./gas-price.js";
import { asAddress, asHash, type Hex, toHex } from "./hex.js";
import { type SignedFor, viewOf } from "./receipts.js";
import { cleanText } from "./revert-reason.js";
import type { EndpointStatus, RpcResult } from "./rpc-endpoint.js";
import { type Ask, RpcPool, type RpcPoolOptions } from "./rpc-pool.js";
import { readCount, readHash, readQuantity } from "./rpc-wire.js";
import { standingOf } from "./standing.js";
import { allowanceCall, balanceCall, callAt, decimalsCall, readDecimals, readUint } from "./token-calls.js";

export interface EvmChainOptions extends RpcPoolOptions {
  readonly confirmations: number;
  readonly gasLimits: GasLimits;
  /** Custom errors of contracts that are called, for reasons by name. Default: those of tokens alone. */
  readonly errors?: Abi;
}

export interface EvmChainStatus {
  readonly chainId: number;
  /** Endpoints that must show the same before anything is final. */
  readonly agreement: number;
  readonly endpoints: readonly EndpointStatus[];
}

export class EvmChain implements Chain {
  readonly chainId: number;
  readonly confirmations: number;
  readonly priceMax: GasPrice;
  readonly logs: EvmLogs;
  readonly #pool: RpcPool;
  readonly #options: EvmChainOptions;
  readonly #decimals = new Map<string, number>();

  /** Throws RangeError for a configuration that cannot be meant. */
  constructor(options: EvmChainOptions) {
    const { chainId, confirmations } = options;
    if (!Number.isSafeInteger(chainId) || chainId < 1) throw new RangeError("a chain id is a whole number from 1");
    if (!Number.isSafeInteger(confirmations) || confirmations < 1)
      throw new RangeError("confirmations are a whole number from 1");
    this.chainId = chainId;
    this.confirmations = confirmations;
    this.priceMax = options.gasLimits;
    this.#options = options;
    this.#pool = new RpcPool(options);
    this.logs = new EvmLogs(this.#pool, confirmations, options.clock);
  }

  /** Endpoints that must show the same before anything is final. */
  get agreement(): number {
    return this.#pool.agreement;
  }

  status(): EvmChainStatus {
    return { chainId: this.chainId, agreement: this.agreement, endpoints: this.#pool.status() };
  }

  close(graceMs: number): Promise<void> {
    return this.#pool.close(graceMs);
  }

  nativeBalance(address: string, options: CallOptions): Promise<Read<bigint>> {
    const params = [asAddress(address), "latest"];
    const read = (value: unknown) => readQuantity(value, "balance");
    return this.#fresh((endpoint, left) => endpoint.call("eth_getBalance", params, read, left), options);
  }

  tokenBalance(token: string, address: string, options: CallOptions): Promise<Read<bigint>> {
    return this.#callToken(token, balanceCall(address), readUint, options);
  }

  allowance(token: string, owner: string, spender: string, options: CallOptions): Promise<Read<bigint>> {
    return this.#callToken(token, allowanceCall(owner, spender), readUint, options);
  }

  async tokenDecimals(token: string, options: CallOptions): Promise<Read<number>> {
    const known = this.#decimals.get(token);
    if (known !== undefined) return this.#ok(known);
    const read = await this.#callToken(token, decimalsCall(), readDecimals, options);
    if (read.ok) this.#decimals.set(token, read.value);
    return read;
  }

  async nextNonce(address: string, options: CallOptions): Promise<Read<number>> {
    const params = [asAddress(address), "pending"];
    const read = (value: unknown) => readCount(value, "nonce");
    const answers = await this.#pool.each(
      (endpoint, left) => endpoint.call("eth_getTransactionCount", params, read, left),
      options,
    );
    const nonces = answers.flatMap((answer) => (answer.kind === "value" ? [answer.value] : []));
    return nonces.length > 0 ? this.#ok(Math.max(...nonces)) : failureOf(answers[0]);
  }

  gasPrice(options: CallOptions): Promise<Read<GasPrice>> {
    const { gasLimits, clock } = this.#options;
    return this.#fresh((endpoint, left) => gasPriceOf(endpoint, gasLimits, clock, left), options);
  }

  estimateGas(call: ChainCall, options: CallOptions): Promise<Read<GasEstimate>> {
    const { errors = [], clock } = this.#options;
    return this.#fresh((endpoint, left) => estimateOf(endpoint, call, errors, clock, left), options);
  }

  async broadcast(raw: Uint8Array, options: CallOptions): Promise<BroadcastOutcome> {
    const hash = toHex(keccak256(raw));
    const read = (value: unknown): true => {
      if (readHash(value, "hash") !== hash) throw new WireFault("hash", "is of another transaction");
      return true;
    };
    const answers = await this.#pool.each(
      (endpoint, left) => endpoint.call("eth_sendRawTransaction", [toHex(raw)], read, left),
      options,
    );
    return broadcastOutcome(answers, this.agreement);
  }

  async standing(of: SignedFor, options: CallOptions): Promise<Read<TransactionStanding>> {
    const signed = { ...of, from: asAddress(of.from), hashes: of.hashes.map(asHash) };
    const { clock } = this.#options;
    const views = await this.#pool.each(
      (endpoint, left) => viewOf(endpoint, signed, this.confirmations, clock, left),
      options,
    );
    const standing = standingOf(views, { confirmations: this.confirmations, agreement: this.agreement });
    if (standing !== null) return this.#ok(standing);
    const [view] = views;
    return view?.kind === "silent" ? view.failure : NO_ENDPOINT;
  }

  #callToken<T>(token: string, data: Hex, read: (value: unknown) => T, options: CallOptions): Promise<Read<T>> {
    return this.#fresh((endpoint, left) => callAt(endpoint, { to: token, data }, read, left), options);
  }

  async #fresh<T>(ask: Ask<T>, options: CallOptions): Promise<Read<T>> {
    const result = await this.#pool.first(ask, options);
    return result.kind === "value" ? this.#ok(result.value) : failureOf(result);
  }

  #ok<T>(value: T): Read<T> & { readonly ok: true } {
    return { ok: true, value, asOfMs: this.#options.clock.wallMs(), source: "venue" };
  }
}

const NO_ENDPOINT = failedRead("VENUE_ERROR", "no endpoint of this chain");

function failureOf(result: RpcResult<unknown> | undefined): FailedRead {
  if (result?.kind === "failed") return result.failure;
  if (result?.kind === "error") return failedRead("VENUE_ERROR", cleanText(result.error.message));
  return NO_ENDPOINT;
}
