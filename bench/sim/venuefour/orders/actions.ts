/**
 * Signed operations, over REST, over the socket and in batches: signature, request log, speed bump, execution. The log
 * has every operation that an authorized key signed, refused ones with their refusal.
 */
import type { Clock } from "../../../../engine/domain/clock.js";
import type { SimRequestDraft } from "../../core/server/request-log.js";
import { AccountSettings } from "./account-settings.js";
import type { VenuefourContext } from "./context.js";
import { refuseBody, refuseBusiness, VenuefourRefusal } from "../wire/errors.js";
import { AGENTS_MAX, CONFIG_KEYS_MAX, type KeyRing } from "../records/keys.js";
import { type Fields, isObject, type OperationName } from "../wire/operations.js";
import type { Caller } from "./order-checks.js";
import { OrderDesk } from "./order-desk.js";
import { type SignedCall, Signatures } from "../records/signature.js";

/** What an operation answers. `symbol` and ids are what the socket shows of it. */
export interface ActionResult {
  readonly data: unknown;
  readonly orderId: number | null;
  readonly clientId: string | null;
  readonly symbol: string | null;
}

export interface ActionDeps {
  readonly context: VenuefourContext;
  readonly clock: Clock;
  /** Called after each operation: the streams publish what it caused. */
  onDone(): void;
}

/** How far ahead a time stamp may be; not documented. */
const AHEAD_MAX_MS = 10_000;
const BATCH_MAX = 10;
const BATCH_TYPES: Readonly<Record<string, OperationName>> = {
  Create: "create_order",
  CreateMarket: "create_market_order",
  Cancel: "cancel_order",
  Edit: "edit_order",
};

export class Actions {
  readonly settings: AccountSettings;
  readonly desk: OrderDesk;
  readonly #deps: ActionDeps;
  readonly #context: VenuefourContext;
  readonly #signatures: Signatures;

  constructor(deps: ActionDeps) {
    this.#deps = deps;
    this.#context = deps.context;
    this.desk = new OrderDesk(deps.context);
    this.settings = new AccountSettings(deps.context);
    this.#signatures = new Signatures({
      keys: deps.context.keys,
      nowMs: () => deps.context.exchange.nowMs(),
      aheadMaxMs: AHEAD_MAX_MS,
    });
  }

  /** Throws the venue's refusal. Resolves when the operation has taken full effect. */
  async run(operation: OperationName, body: unknown): Promise<ActionResult> {
    if (!isObject(body)) throw refuseBody("invalid type, expected struct");
    const call = this.#signatures.check(operation, body);
    const index = this.#context.log.received(draftOf(call, this.#accountId(call.account) ?? call.account));
    if (isBumped(call)) await this.#bump();
    return this.#execute(call, index);
  }

  /** At most ten. Each action has its own outcome; the batch itself succeeds in any case. */
  async runBatch(body: unknown): Promise<readonly Fields[]> {
    const actions = isObject(body) ? body.actions : undefined;
    if (!Array.isArray(actions) || actions.length === 0 || actions.length > BATCH_MAX)
      throw refuseBody(`actions: expected 1 to ${BATCH_MAX}`);
    const wanted = actions.map((action: unknown) => {
      const type = isObject(action) ? String(action.type) : "";
      const operation = Object.hasOwn(BATCH_TYPES, type) ? BATCH_TYPES[type] : undefined;
      if (!isObject(action) || operation === undefined) throw refuseBody(`unknown variant \`${type.slice(0, 32)}\``);
      return { operation, data: action.data };
    });
    const checked = wanted.map(({ operation, data }) => this.#check(operation, data));
    if (checked.some((entry) => !(entry instanceof VenuefourRefusal) && isBumped(entry.call))) await this.#bump();
    return checked.map((entry) => {
      if (entry instanceof VenuefourRefusal) return { success: false, order_id: null, error: entry.message };
      try {
        const { orderId } = this.#execute(entry.call, entry.index);
        return { success: true, order_id: orderId, error: null };
      } catch (error) {
        if (!(error instanceof VenuefourRefusal)) throw error;
        return { success: false, order_id: null, error: error.message };
      }
    });
  }

  #check(operation: OperationName, body: unknown): { call: SignedCall; index: number } | VenuefourRefusal {
    try {
      if (!isObject(body)) throw refuseBody("invalid type, expected struct");
      const call = this.#signatures.check(operation, body);
      return {
        call,
        index: this.#context.log.received(draftOf(call, this.#accountId(call.account) ?? call.account)),
      };
    } catch (error) {
      if (error instanceof VenuefourRefusal) return error;
      throw error;
    }
  }

  #execute(call: SignedCall, index: number): ActionResult {
    try {
      const result = this.#perform(call);
      this.#context.log.executed(index, call.operation.startsWith("cancel") ? null : result.orderId);
      return result;
    } catch (error) {
      if (error instanceof VenuefourRefusal)
        this.#context.log.refused(index, String(error.code ?? error.status), error.message);
      throw error;
    } finally {
      this.#deps.onDone();
    }
  }

  #perform({ operation, payload, account }: SignedCall): ActionResult {
    const accountId = this.#accountId(account);
    if (accountId === null)
      throw refuseBusiness("accountNotFound", `Account not found: ${account}`, this.#context.quirks);
    const by: Executors = { desk: this.desk, settings: this.settings, keys: this.#context.keys };
    return OPERATIONS[operation](by, { accountId, wallet: account }, payload);
  }

  #accountId(wallet: string): string | null {
    return this.#context.keys.accountIdOf(wallet);
  }

  #bump(): Promise<void> {
    const { speedBumpMs } = this.#context.cadences;
    if (speedBumpMs === 0) return Promise.resolve();
    return new Promise((resolve) => this.#deps.clock.setTimer(resolve, speedBumpMs));
  }
}

/** What operations are carried out by. */
interface Executors {
  readonly desk: OrderDesk;
  readonly settings: AccountSettings;
  readonly keys: KeyRing;
}

const OPERATIONS: Readonly<Record<OperationName, (by: Executors, caller: Caller, payload: Fields) => ActionResult>> = {
  create_market_order: ({ desk }, caller, payload) => created(desk.createMarket(caller, payload)),
  create_order: ({ desk }, caller, payload) => created(desk.create(caller, payload)),
  edit_order: ({ desk }, caller, payload) => created(desk.edit(caller, payload)),
  create_stop_order: ({ desk }, caller, payload) => created(desk.triggers.createStop(caller, payload)),
  set_position_tpsl: ({ desk }, caller, payload) => {
    desk.triggers.setPositionTpsl(caller, payload);
    return done(null, payload);
  },
  cancel_order: ({ desk }, caller, payload) => {
    desk.cancel(caller, payload, false);
    return done(null, payload);
  },
  cancel_stop_order: ({ desk }, caller, payload) => {
    desk.cancel(caller, payload, true);
    return done(null, payload);
  },
  cancel_all_orders: ({ desk }, caller, payload) => done({ cancelled_count: desk.cancelAll(caller, payload) }, payload),
  update_leverage: ({ settings }, caller, payload) => {
    settings.setLeverage(caller, payload);
    return done(null, payload);
  },
  update_margin_mode: ({ settings }, caller, payload) => {
    settings.setMarginMode(caller, payload);
    return done(null, payload);
  },
  bind_agent_wallet: ({ keys }, { wallet }, payload) => {
    if (!keys.bind(wallet, String(payload.agent_wallet)))
      throw new VenuefourRefusal(400, `Agent wallet limit reached: ${AGENTS_MAX}`, 400);
    return done(null, payload);
  },
  list_agent_wallets: ({ keys }, { wallet }, payload) => done({ agent_wallets: keys.agentsOf(wallet) }, payload),
  revoke_agent_wallet: ({ keys }, { wallet }, payload) => {
    if (!keys.revoke(wallet, String(payload.agent_wallet)))
      throw new VenuefourRefusal(404, "Agent wallet not found", 404);
    return done(null, payload);
  },
  revoke_all_agent_wallets: ({ keys }, { wallet }, payload) => {
    for (const agent of keys.agentsOf(wallet)) keys.revoke(wallet, agent);
    return done(null, payload);
  },
  create_api_key: ({ keys }, { wallet }, payload) => {
    const key = keys.createConfigKey(wallet);
    if (key === null) throw new VenuefourRefusal(400, `API key limit reached: ${CONFIG_KEYS_MAX}`, 400);
    return done({ api_key: key }, payload);
  },
  list_api_keys: ({ keys }, { wallet }, payload) =>
    done({ active_api_keys: keys.configKeysOf(wallet), api_key_limit: CONFIG_KEYS_MAX }, payload),
  revoke_api_key: ({ keys }, { wallet }, payload) => {
    if (!keys.revokeConfigKey(wallet, String(payload.api_key)))
      throw new VenuefourRefusal(404, "API key not found", 404);
    return done(null, payload);
  },
};

/** Market, GTC and IOC orders wait; post-only ones, edits, cancels and protection do not. */
function isBumped({ operation, payload }: SignedCall): boolean {
  if (operation === "create_market_order") return true;
  return operation === "create_order" && (payload.tif === "GTC" || payload.tif === "IOC");
}

function created(order: { orderId: number; clientId: string | null; symbol: string }): ActionResult {
  const { orderId, clientId, symbol } = order;
  return { data: { order_id: orderId }, orderId, clientId, symbol };
}

function done(data: unknown, payload: Fields): ActionResult {
  return {
    data,
    orderId: typeof payload.order_id === "number" ? payload.order_id : null,
    clientId: typeof payload.client_order_id === "string" ? payload.client_order_id : null,
    symbol: typeof payload.symbol === "string" ? payload.symbol : null,
  };
}

const ACTIONS: Readonly<Partial<Record<OperationName, string>>> = {
  create_market_order: "place",
  create_order: "place",
  create_stop_order: "place",
  set_position_tpsl: "place",
  edit_order: "amend",
  cancel_order: "cancel",
  cancel_stop_order: "cancel",
  cancel_all_orders: "cancelAll",
  update_leverage: "leverage",
  update_margin_mode: "marginMode",
};

const TYPES: Readonly<Partial<Record<OperationName, string>>> = {
  create_market_order: "MARKET",
  create_order: "LIMIT",
  create_stop_order: "STOP",
  set_position_tpsl: "TPSL",
};

function draftOf({ operation, payload, signer, timestamp }: SignedCall, accountId: string): SimRequestDraft {
  const stop = isObject(payload.stop_order) ? payload.stop_order : {};
  const protection = [payload.take_profit, payload.stop_loss].find(isObject) ?? {};
  const isPlacing = ACTIONS[operation] === "place";
  const nested = operation === "set_position_tpsl" ? protection : stop;
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return {
    action: ACTIONS[operation] ?? operation,
    signer,
    accountId,
    symbol: text(payload.symbol),
    clientId: text(payload.client_order_id) ?? text(nested.client_order_id),
    side: payload.side === undefined ? null : payload.side === "bid" ? "BUY" : "SELL",
    type: TYPES[operation] ?? null,
    timeInForce: text(payload.tif),
    reduceOnly: operation === "set_position_tpsl" ? true : ((payload.reduce_only as boolean | undefined) ?? null),
    positionSide: isPlacing ? "BOTH" : null,
    price: text(payload.price) ?? text(nested.limit_price),
    qty: text(payload.amount) ?? text(nested.amount),
    nonce: String(timestamp),
  };
}
