/**
 * The state of a component's trading: what its latest call is at. Each call resolves or rejects by itself; a call that a later
 * one has overtaken changes the state no more. Without React, so that it can be read outside of a render.
 */
import {
  createVenuefiveTrading,
  type OpenPositionResult,
  type OperationOptions,
  type VenuefiveOperation,
  type VenuefiveStepEvent,
  VenuefiveTradeError,
  type VenuefiveTrading,
  type VenuefiveTradingOptions,
} from "../venuefive/index.js";
import { callListener } from "../venuefive/call-listener.js";
import { notFollowed } from "../venuefive/resume.js";
import { typedError } from "../venuefive/trade-error.js";

export type VenuefiveTradeData = OpenPositionResult | `0x${string}`;

/** Which operation was called, with what. */
export interface VenuefiveTradeVariables {
  readonly operation: VenuefiveOperation;
  readonly parameters: unknown;
}

export interface VenuefiveTradeCallbacks {
  readonly onSuccess?: ((data: VenuefiveTradeData, variables: VenuefiveTradeVariables) => void) | undefined;
  readonly onError?: ((error: VenuefiveTradeError, variables: VenuefiveTradeVariables) => void) | undefined;
  readonly onSettled?:
    | ((
        data: VenuefiveTradeData | undefined,
        error: VenuefiveTradeError | null,
        variables: VenuefiveTradeVariables,
      ) => void)
    | undefined;
}

/** As the hook has them: the client may be missing until a wallet library has one. */
export type TradeStoreOptions = VenuefiveTradeCallbacks &
  Omit<VenuefiveTradingOptions, "publicClient"> & {
    readonly publicClient?: VenuefiveTradingOptions["publicClient"] | undefined;
  };

export type VenuefiveTradeStatus = "idle" | "pending" | "success" | "error";

export interface VenuefiveTradeState {
  readonly status: VenuefiveTradeStatus;
  readonly data: VenuefiveTradeData | undefined;
  readonly error: VenuefiveTradeError | null;
  readonly variables: VenuefiveTradeVariables | undefined;
  /** Of the latest call so far, oldest first. */
  readonly steps: readonly VenuefiveStepEvent[];
  /** Unix ms; 0 while idle. */
  readonly submittedAt: number;
  readonly isIdle: boolean;
  readonly isPending: boolean;
  readonly isSuccess: boolean;
  readonly isError: boolean;
}

type Facts = Pick<VenuefiveTradeState, "status" | "data" | "error" | "variables" | "steps" | "submittedAt">;

const withFlags = (facts: Facts): VenuefiveTradeState => ({
  ...facts,
  isIdle: facts.status === "idle",
  isPending: facts.status === "pending",
  isSuccess: facts.status === "success",
  isError: facts.status === "error",
});

const IDLE = /* @__PURE__ */ withFlags({
  status: "idle",
  data: undefined,
  error: null,
  variables: undefined,
  steps: [],
  submittedAt: 0,
});

export class TradeStore {
  #options: TradeStoreOptions;
  #state = IDLE;
  /** Counts the calls and resets; a call whose count is past is overtaken. */
  #generation = 0;
  readonly #listeners = new Set<() => void>();

  constructor(options: TradeStoreOptions) {
    this.#options = options;
  }

  /** For calls from now on; one under way keeps its own clients. */
  configure(options: TradeStoreOptions): void {
    this.#options = options;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly snapshot = (): VenuefiveTradeState => this.#state;
  /** What a server renders: no call is made there. */
  readonly serverSnapshot = (): VenuefiveTradeState => IDLE;

  /** Forgets the latest call; the transaction itself goes its way. */
  readonly reset = (): void => {
    this.#generation++;
    this.#set(IDLE);
  };

  /** They keep their identity for as long as the component is there. */
  readonly operations: VenuefiveTrading = {
    openPosition: this.#operation("openPosition"),
    closePosition: this.#operation("closePosition"),
    closeBySymbol: (symbol, direction, options) =>
      this.#call("closeBySymbol", { symbol, direction }, options, (trading, own) =>
        trading.closeBySymbol(symbol, direction, own),
      ),
    cancelLimitOrder: this.#operation("cancelLimitOrder"),
    updateLimitOrder: this.#operation("updateLimitOrder"),
    updateMargin: this.#operation("updateMargin"),
    updateTpAndSl: this.#operation("updateTpAndSl"),
    resume: (txHash, options) =>
      this.#call("resume", { txHash }, options, (trading, own) => trading.resume(txHash, own), txHash),
  };

  /** Of those that take their parameters as one object. */
  #operation<K extends Exclude<VenuefiveOperation, "closeBySymbol" | "resume">>(name: K): VenuefiveTrading[K] {
    const operation = (parameters: never, options?: OperationOptions): Promise<VenuefiveTradeData> =>
      this.#call<VenuefiveTradeData>(name, parameters, options, (trading, own) => trading[name](parameters, own));
    return operation as VenuefiveTrading[K];
  }

  async #call<T extends VenuefiveTradeData>(
    operation: VenuefiveOperation,
    parameters: unknown,
    options: OperationOptions | undefined,
    work: (trading: VenuefiveTrading, options: OperationOptions) => Promise<T>,
    sentBefore?: `0x${string}`,
  ): Promise<T> {
    const generation = ++this.#generation;
    const variables = { operation, parameters };
    const update = (facts: Partial<Facts>): void => {
      if (generation === this.#generation) this.#set(withFlags({ ...this.#state, ...facts }));
    };
    const onStep = (event: VenuefiveStepEvent): unknown => {
      update({ steps: [...this.#state.steps, event] });
      return options?.onStep?.(event);
    };
    update({ ...IDLE, status: "pending", variables, submittedAt: Date.now() });
    try {
      const data = await work(this.#trading(), { ...options, onStep });
      update({ status: "success", data });
      callListener(() => this.#options.onSuccess?.(data, variables));
      callListener(() => this.#options.onSettled?.(data, null, variables));
      return data;
    } catch (thrown) {
      const error = sentBefore === undefined ? typedError(thrown) : notFollowed(thrown, sentBefore);
      update({ status: "error", error });
      callListener(() => this.#options.onError?.(error, variables));
      callListener(() => this.#options.onSettled?.(undefined, error, variables));
      throw error;
    }
  }

  /** The clients of now: a wallet may have been connected since the last call. */
  #trading(): VenuefiveTrading {
    const { publicClient, ...options } = this.#options;
    if (publicClient === undefined)
      throw new VenuefiveTradeError("INVALID_OPTIONS", "publicClient is undefined: there is no chain to read");
    return createVenuefiveTrading({ ...options, publicClient });
  }

  #set(state: VenuefiveTradeState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
