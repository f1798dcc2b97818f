/**
 * A room at the local venue through endpoints that a test can break, on a clock that stands while a request is under way.
 */
import { onTestFinished } from "vitest";
import type { VenuefiveWorld } from "../../../bench/sim/venuefive/world.js";
import type { ClientSignedRoom } from "../../../engine/client-signed-room.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { VENUEFIVE_PAIRS } from "../../../schemas/venuefive/contracts.js";
import { connectRpc } from "../../shared/chain/rpc-connection.js";
import { untilHolds, untilSettled } from "../../shared/test/http-time.js";
import { pairMapOf } from "../market/pair-map.js";
import { BODY_BYTES_MAX, createVenuefiveRoom, type VenuefiveRoomParts } from "../room.js";
import { noHistory } from "./no-history.js";
import { RpcProxy } from "./rpc-proxy.js";

/** Between two blocks, as the chain has them. */
const BLOCK_S = 2;

export const READ: CallOptions = { timeoutMs: 10_000, lane: "read" };

export interface RoomStand {
  readonly room: ClientSignedRoom;
  readonly proxies: readonly RpcProxy[];
  readonly clock: VirtualClock;
  /** Of all log lines. */
  readonly lines: readonly { readonly event: string; readonly fields: LogFields | undefined }[];
  settled<T>(promise: Promise<T>): Promise<T>;
  holds(condition: () => boolean): Promise<void>;
  /** Until the room shows the newest block of the chain. */
  atTip(): Promise<void>;
}

export interface RoomStandOptions {
  /** Chains behind the endpoints, by default the world's one time. */
  readonly targets?: readonly string[];
  readonly parts?: Partial<VenuefiveRoomParts>;
  /** Before the room starts. */
  readonly prepare?: (proxies: readonly RpcProxy[]) => void;
  readonly path?: string;
  /** Default: one of its own. */
  readonly clock?: VirtualClock;
}

/** Blocks get their time of each other from here on, so that how long a test really takes is not their age. */
async function chainTimeMs({ chain }: VenuefiveWorld): Promise<number> {
  await chain.rpc("anvil_setBlockTimestampInterval", [BLOCK_S]);
  const newest = await chain.rpc("eth_getBlockByNumber", ["latest", false]);
  return Number((newest as { timestamp: string }).timestamp) * 1_000;
}

export async function startRoomStand(world: VenuefiveWorld, options: RoomStandOptions = {}): Promise<RoomStand> {
  const { targets = [world.rpcUrl], parts = {}, path = "/" } = options;
  const clock = options.clock ?? new VirtualClock(await chainTimeMs(world));
  const lines: { event: string; fields: LogFields | undefined }[] = [];
  const log = (event: string, fields?: LogFields): void => void lines.push({ event, fields });
  const logger: Logger = { debug: null, info: log, warn: log, error: log };
  const proxies = await Promise.all(targets.map((target) => new RpcProxy(target).listen(path)));
  options.prepare?.(proxies);
  const { TradingStorage, PairStorage, Multicall, Usdc } = world.addresses;
  const random = createSeededRandom(1);
  const room = createVenuefiveRoom({
    ...{ chainId: world.chainId, rpcUrls: proxies.map(({ url }) => url), map: pairMapOf(VENUEFIVE_PAIRS) },
    addresses: { TradingStorage, PairStorage, Multicall, USDC: Usdc },
    ...{ pollMs: 1_000, lagBlocksMax: 5, pairsEveryBlocks: 50, callsPerMinute: 100_000, clock, random, logger },
    createHistory: noHistory,
    // Connecting is timed by the machine's own clock.
    connect: (url, place) =>
      connectRpc(url, {
        ...{ name: `chain.${place}`, callsPerMinute: 100_000, connectTimeoutMs: 60_000, maxBodyBytes: BODY_BYTES_MAX },
        ...{ clock, random, logger },
      }),
    ...parts,
  });
  const settled = <T>(promise: Promise<T>): Promise<T> => untilSettled(clock, promise);
  onTestFinished(async () => {
    for (const proxy of proxies) proxy.stop();
    const stopped = room.stop();
    await clock.advanceAsync(5_000);
    await stopped;
  });
  return {
    ...{ room, proxies, clock, lines, settled },
    holds: (condition) => untilHolds(clock, condition),
    async atTip() {
      const tip = Number(await world.chain.rpc("eth_blockNumber"));
      await untilHolds(clock, () => (room.status().block ?? 0) >= tip);
    },
  };
}
