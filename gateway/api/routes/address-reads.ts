/** Reads of what an address has: on the venue that the path names, or on all of them side by side with their coverage. */
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { VenueRoom } from "../../../engine/ports.js";
import type { Coverage, CoverageByVenue } from "../../../schemas/account-common.js";
import { addressBlocks, checkWalletAddress, exchangeOf, tradingRoom } from "../../accounts/account-access.js";
import { type AccountRef, requirePathsAccount } from "../../accounts/account-reads.js";
import { requireSomeAnswer } from "../../accounts/read-errors.js";
import type { Ask } from "../../http/json-route.js";
import type { TradingContext } from "./order-desk-call.js";

interface AddressOnVenue {
  readonly venue: RoutableVenue;
  readonly room: VenueRoom;
  readonly walletAddress: string;
  readonly ref: AccountRef;
}

/** The `{exchange}` and `{walletAddress}` of the path, with the credentials that the caller may use for them. */
export async function addressOnVenue({ trading, view }: TradingContext, ask: Ask): Promise<AddressOnVenue> {
  const venue = exchangeOf(ask.params["exchange"] ?? "", "read");
  const walletAddress = checkWalletAddress(ask.params["walletAddress"] ?? "", venue);
  const blocks = await addressBlocks(trading.wallets, trading.operator, ask, walletAddress);
  const room = tradingRoom(view, venue);
  const ref = { walletAddress, block: blocks[venue] ?? null, payer: ask.caller.keyId };
  requirePathsAccount(venue, ref);
  return { venue, room, walletAddress, ref };
}

interface AddressOnAll<Part> {
  readonly walletAddress: string;
  /** In the order of ROUTABLE_VENUES. */
  readonly parts: readonly Part[];
  readonly coverage: CoverageByVenue;
}

/** How each is read; `chain`: the client-signed venue, of which the reader keeps the part itself. */
interface VenueReaders<Part> {
  readonly venue: (venue: RoutableVenue, ref: AccountRef) => Promise<Part>;
  readonly chain: (walletAddress: string, payer: string | null) => Coverage | Promise<Coverage>;
}

/** The `{walletAddress}` of the path on every venue. Throws `failure` where none of them can be read. */
export async function addressOnAll<Part extends { readonly coverage: Coverage }>(
  { trading }: TradingContext,
  ask: Ask,
  failure: Parameters<typeof requireSomeAnswer>[1],
  { venue: readVenue, chain: readChain }: VenueReaders<Part>,
): Promise<AddressOnAll<Part>> {
  const walletAddress = checkWalletAddress(ask.params["walletAddress"] ?? "", null);
  const blocks = await addressBlocks(trading.wallets, trading.operator, ask, walletAddress);
  const payer = ask.caller.keyId;
  const [venuefive, ...parts] = await Promise.all([
    readChain(walletAddress, payer),
    ...ROUTABLE_VENUES.map((venue) =>
      readVenue(venue, { walletAddress, block: blocks[venue] ?? null, payer, takesAnyAccount: true }),
    ),
  ]);
  const routable = Object.fromEntries(ROUTABLE_VENUES.map((venue, index) => [venue, parts[index]?.coverage]));
  const coverage = { ...(routable as Omit<CoverageByVenue, "venuefive">), venuefive };
  requireSomeAnswer(coverage, failure);
  return { walletAddress, parts, coverage };
}
