/**
 * What all local venues share: one engine with its faults and its log behind one loopback port, which serves the
 * venue's protocol and the control API. A room supplies what differs. Nothing runs before `startVenueServer`, and
 * nothing of it runs after `stop`.
 */
import { type Clock, createSystemClock, type TimerHandle } from "../../../../engine/domain/clock.js";
import { SimControl } from "./control.js";
import { type ExchangeOptions, SimExchange } from "../engine/exchange.js";
import type { PriceSource } from "../market/factor-model.js";
import type { FaultSpec } from "./fault-types.js";
import { FaultInjector } from "./faults.js";
import type { FlowOptions } from "../engine/flow.js";
import { changeListing, type ListingChange } from "../engine/listing-change.js";
import { SimRequestLog } from "./request-log.js";
import type { SimControlHooks, SimProtocol, SimSocket } from "./server-types.js";
import { type SimShell, startShell } from "./shell.js";
import type { SimInstrument } from "../model/types.js";

/** Options that every local venue takes. */
export interface VenueOptions<Account> {
  readonly seed: number;
  readonly clock?: Clock;
  /** Default 0: a free port. */
  readonly port?: number;
  readonly accounts?: readonly Account[];
  readonly faults?: readonly FaultSpec[];
  /** Share one over several venues to correlate their prices. */
  readonly priceSource?: PriceSource;
  /** Null means no synthetic liquidity. */
  readonly flow?: Partial<FlowOptions> | null;
  /** Bytes waiting for a reader before it is cut. */
  readonly backlogBytesMax?: number;
}

type EngineOptions = Omit<ExchangeOptions, "seed" | "clock" | "priceSource" | "flow">;

/** What a room is built on. */
export class VenueCore {
  readonly clock: Clock;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;

  constructor({ seed, clock, priceSource, flow }: VenueOptions<unknown>, engine: EngineOptions) {
    this.clock = clock ?? createSystemClock();
    const exchange = new SimExchange({
      ...engine,
      seed,
      clock: this.clock,
      ...(priceSource === undefined ? {} : { priceSource }),
      ...(flow === undefined ? {} : { flow }),
    });
    this.exchange = exchange;
    this.faults = new FaultInjector({
      seed,
      clock: this.clock,
      onChange: () => exchange.setClockSkewMs(this.faults.clockSkewMs()),
    });
    this.log = new SimRequestLog(exchange);
  }
}

/** Something that a room does at intervals while the venue runs. */
export interface RoomTimer {
  readonly everyMs: number;
  run(sockets: ReadonlySet<SimSocket>): void;
}

/** What differs between the local venues. */
export interface SimRoom<Account, Keys> extends SimControlHooks {
  readonly protocol: SimProtocol;
  /** Path of the venue's socket; empty where clients add their own. */
  readonly socketPath: string;
  readonly timers: readonly RoomTimer[];
  /** Opens the account in the engine and registers its keys. */
  addAccount(account: Account): Keys;
  /** Puts the change into the venue's own list. Returns the listed instrument. */
  relist(symbol: string, change: ListingChange): SimInstrument;
  /** Called when the port is open and the engine runs. */
  start?(): void;
  stop?(): void;
}

/** Binds the port, then starts the engine and the room. */
export async function startVenueServer<Account, Keys, Room extends SimRoom<Account, Keys>>(
  core: VenueCore,
  room: Room,
  options: VenueOptions<Account>,
): Promise<VenueServer<Account, Keys, Room>> {
  const server = new VenueServer<Account, Keys, Room>(core, room);
  for (const account of options.accounts ?? []) server.addAccount(account);
  for (const fault of options.faults ?? []) core.faults.add(fault);
  await server.listen(options);
  return server;
}

export class VenueServer<Account, Keys, Room extends SimRoom<Account, Keys>> {
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  /** Every instruction whose signature was accepted, with its outcome. */
  readonly log: SimRequestLog;
  readonly room: Room;
  readonly #clock: Clock;
  readonly #timers = new Map<RoomTimer, TimerHandle>();
  #shell: SimShell | null = null;

  constructor(core: VenueCore, room: Room) {
    this.exchange = core.exchange;
    this.faults = core.faults;
    this.log = core.log;
    this.room = room;
    this.#clock = core.clock;
  }

  async listen({ port, backlogBytesMax }: Pick<VenueOptions<unknown>, "port" | "backlogBytesMax">): Promise<void> {
    const { exchange, faults, log, room } = this;
    this.#shell = await startShell({
      clock: this.#clock,
      port: port ?? 0,
      faults,
      protocol: room.protocol,
      control: new SimControl({ exchange, faults, log, hooks: room }),
      ...(backlogBytesMax === undefined ? {} : { backlogBytesMax }),
    });
    exchange.start();
    room.start?.();
    for (const timer of room.timers) this.#repeat(timer);
  }

  get shell(): SimShell {
    if (this.#shell === null) throw new RangeError("the venue is not listening");
    return this.#shell;
  }

  get port(): number {
    return this.shell.port;
  }

  /** Base of the venue's REST paths, no trailing slash. */
  get restUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}${this.room.socketPath}`;
  }

  addAccount(account: Account): Keys {
    return this.room.addAccount(account);
  }

  /** Changes what the venue lists, while it runs. */
  changeListing(symbol: string, change: ListingChange): Promise<void> {
    return changeListing(this.exchange, symbol, change, () => this.room.relist(symbol, change));
  }

  async stop(): Promise<void> {
    for (const handle of this.#timers.values()) this.#clock.clearTimer(handle);
    this.#timers.clear();
    this.exchange.stop();
    this.room.stop?.();
    this.faults.clear();
    await this.#shell?.stop();
  }

  #repeat(timer: RoomTimer): void {
    const fire = (): void => {
      this.#repeat(timer);
      timer.run(this.shell.sockets);
    };
    this.#timers.set(timer, this.#clock.setTimer(fire, timer.everyMs));
  }
}
