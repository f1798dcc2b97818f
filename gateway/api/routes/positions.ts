/**
 * Positions (interface spec 4.9): of one address on all venues, on one venue, and one venue's native form for a server
 * wallet. Each is one read; the stream has the changes.
 *
 * Invariants: one venue's failure never hides another's positions; what could not be read is an error or a coverage
 * entry, never an empty list.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import {
  type AccountReader,
  type AccountSession,
  type CallOptions,
  isTradingRoom,
  type Read,
} from "../../../engine/ports.js";
import type { Coverage } from "../../../schemas/account-common.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import {
  type AggregatedPosition,
  allPositionsReplySchema,
  nativePositionsQuerySchema,
  nativePositionsReplySchema,
  type VenuefivePosition,
  venuePositionsReplySchema,
} from "../../../schemas/positions.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { NATIVE_VENUE } from "../../../schemas/venues.js";
import {
  ACCOUNT_HEADERS,
  findWallet,
  requireSameWallet,
  tradingRoom,
  WALLET_HEADER,
  walletBlock,
} from "../../accounts/account-access.js";
import { accountAddress, type AccountRead, type AccountRef } from "../../accounts/account-reads.js";
import {
  aggregatedPosition,
  nativePosition,
  type PositionContract,
  uncountedNative,
} from "../../accounts/position-views.js";
import { chainCoverage } from "../../accounts/chain-errors.js";
import { chainPosition } from "../../accounts/chain-views.js";
import { isEvmAddress } from "../../accounts/names.js";
import { notApplicable, notConfigured, positionsCoverage, readError } from "../../accounts/read-errors.js";
import { checkedQuery, jsonRoute } from "../../http/json-route.js";
import type { MarketView } from "../market-view.js";
import type { Route } from "../../http/route.js";
import { addressOnAll, addressOnVenue } from "./address-reads.js";
import { symbolOn, type TradingContext } from "./order-desk-call.js";

export function positionRoutes(context: TradingContext): Route[] {
  return [allRoute(context), venueRoute(context), nativeRoute(context)];
}

function rowsOf(
  { view, clock }: TradingContext,
  read: Extract<AccountRead<readonly VenuePosition[]>, { ok: true }>,
  walletAddress: string,
): AggregatedPosition[] {
  const now = { wallMs: clock.wallMs(), monoNs: clock.monoNs() };
  return read.value.flatMap((position) => {
    const contract = contractOf(view, position);
    return contract === null || position.qtyLots === 0
      ? []
      : [aggregatedPosition(position, contract, walletAddress, read, now)];
  });
}

/** Returns null for a contract that is not listed. */
function contractOf(view: MarketView, { venue, symbol, uncounted }: VenuePosition): PositionContract | null {
  const instrument = uncounted === undefined ? view.instrument(venue, symbol) : null;
  return instrument === null ? null : { instrument, market: view.market(venue, symbol) };
}

const FOREIGN_ADDRESS = "no address of venuefive's chain has this form";

interface VenueRows {
  readonly rows: AggregatedPosition[];
  readonly coverage: Coverage;
}

async function readVenue(context: TradingContext, venue: RoutableVenue, ref: AccountRef): Promise<VenueRows> {
  const room = context.view.room(venue);
  if (room === null || !isTradingRoom(room)) return { rows: [], coverage: notConfigured(venue) };
  const read = await context.trading.reads.read(room, ref, (session, options) =>
    room.reader.readPositions(session, null, options),
  );
  const rows = read.ok ? rowsOf(context, read, read.account ?? accountAddress(venue, ref)) : [];
  return { rows, coverage: positionsCoverage(venue, read) };
}

async function readChain(
  { clientSigned, trading }: TradingContext,
  walletAddress: string,
  payer: string | null,
): Promise<{ readonly rows: VenuefivePosition[]; readonly coverage: Coverage }> {
  if (clientSigned === undefined) return { rows: [], coverage: notConfigured("venuefive") };
  if (!isEvmAddress(walletAddress)) return { rows: [], coverage: notApplicable(FOREIGN_ADDRESS) };
  const { room } = clientSigned;
  const read = await trading.reads.readChain(payer, (options) => room.readPositions(walletAddress, options));
  const rows = read.ok ? read.value.map((position) => chainPosition(position, walletAddress)) : [];
  return { rows, coverage: chainCoverage(room, read) };
}

function allRoute(context: TradingContext): Route {
  const { clock } = context;
  const serialise = compileSerialiser(allPositionsReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.allPositions,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      let ofChain: VenuefivePosition[] = [];
      const { walletAddress, parts, coverage } = await addressOnAll(context, ask, "FAILED_TO_FETCH_POSITIONS", {
        venue: (venue, ref) => readVenue(context, venue, ref),
        chain: async (address, payer) => {
          const chain = await readChain(context, address, payer);
          ofChain = chain.rows;
          return chain.coverage;
        },
      });
      const positions = parts.flatMap((part) => part.rows);
      return {
        text: serialise({
          success: true,
          walletAddress,
          positions,
          totalPositions: positions.length,
          // Interface spec 4.9 nests them: who closes what the flat list names cannot close these here.
          data: { positions: { venuefive: { positions: ofChain, count: ofChain.length } } },
          coverage,
          timestamp: clock.wallMs(),
        }),
      };
    },
  });
}

function venueRoute(context: TradingContext): Route {
  const { clock, trading } = context;
  const serialise = compileSerialiser(venuePositionsReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuePositions,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const { venue, room, walletAddress, ref } = await addressOnVenue(context, ask);
      const read = await trading.reads.read(room, ref, (session, options) =>
        room.reader.readPositions(session, null, options),
      );
      if (!read.ok) throw readError(venue, read, "FAILED_TO_FETCH_POSITIONS");
      const positions = rowsOf(context, read, accountAddress(venue, ref));
      return {
        text: serialise({
          success: true,
          exchange: venue,
          walletAddress,
          positions,
          totalPositions: positions.length,
          coverage: positionsCoverage(venue, read),
          timestamp: clock.wallMs(),
        }),
      };
    },
  });
}

/**
 * A pushed position lacks figures that the interface shows (spec 2.5), so the venue is read, once for all callers who
 * wait. If that read fails, the pushed position is shown and those figures are empty.
 */
async function readWhole(
  reader: AccountReader,
  session: AccountSession,
  instrument: Instrument | null,
  options: CallOptions,
): Promise<Read<readonly VenuePosition[]>> {
  const read = await reader.readPositions(session, instrument, options);
  const isWhole = !read.ok || read.source === "venue" || read.value.every(({ native }) => isWholeNative(native));
  if (isWhole || reader.verifyPositions === undefined) return read;
  const asked = await reader.verifyPositions(session, instrument, options);
  return asked.ok ? asked : read;
}

function isWholeNative(native: VenuePosition["native"]): boolean {
  return native?.["maxNotionalValue"] !== undefined;
}

function nativeRoute(context: TradingContext): Route {
  const { clock, view, trading } = context;
  const validate = compileValidator(nativePositionsQuerySchema);
  const serialise = compileSerialiser(nativePositionsReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${NATIVE_VENUE}NativePositions`],
    headers: [WALLET_HEADER],
    sends: false,
    async answer(ask) {
      const query = checkedQuery(validate, ask.query);
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, ask.params["walletId"] ?? "");
      requireSameWallet(wallet, ask.headers[WALLET_HEADER]);
      const room = tradingRoom(view, NATIVE_VENUE);
      const symbol = query.symbol === undefined ? null : symbolOn(context, NATIVE_VENUE, query.symbol);
      const instrument = symbol === null ? null : (view.market(NATIVE_VENUE, symbol)?.instrument ?? null);
      const ref = {
        walletAddress: wallet.address,
        block: walletBlock(wallet, NATIVE_VENUE),
        payer: ask.caller.keyId,
      };
      const read = await trading.reads.read(room, ref, (session, options) =>
        readWhole(room.reader, session, instrument, options),
      );
      if (!read.ok) throw readError(NATIVE_VENUE, read, "FAILED_TO_FETCH_POSITIONS");
      const now = { wallMs: clock.wallMs(), monoNs: clock.monoNs() };
      const positions = read.value.flatMap((position) => {
        if (position.uncounted !== undefined) return [uncountedNative(position)];
        const contract = contractOf(view, position);
        return contract === null ? [] : [nativePosition(position, contract, now)];
      });
      const data = { positions, total: positions.length };
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}
