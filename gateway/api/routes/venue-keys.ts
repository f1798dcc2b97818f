/**
 * Keys of server wallets at venues (interface spec 4.2): register, rotate, revoke. Checks go: what is missing, then the
 * exchange, then the wallet and its owner, then what it has.
 */
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { venueKeyReplySchema, venueKeyRequestSchema, venueKeyRevokeReplySchema } from "../../../schemas/venue-keys.js";
import { NATIVE_VENUE, WALLET_VENUE } from "../../../schemas/venues.js";
import type { KeyDeskPort } from "../../accounts/key-desk.js";
import type { WalletDesk } from "../../accounts/wallet-desk.js";
import { type Ask, checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import { keyReply, revokeReply, showsSecret } from "../venue-key-view.js";
import type { RouteContext } from "./context.js";
import { callOf, checkedWalletName, walletOf } from "./wallets.js";

interface KeyContext extends RouteContext {
  readonly walletDesk: WalletDesk;
  readonly keyDesk: KeyDeskPort;
}

/** None without wallets: their paths are then unknown ones. */
export function venueKeyRoutes(context: RouteContext): Route[] {
  const { walletDesk, keyDesk } = context;
  if (walletDesk === undefined || keyDesk === undefined) return [];
  const withDesks = { ...context, walletDesk, keyDesk };
  return [makeRoute(withDesks, "register"), makeRoute(withDesks, "rotate"), revokeRoute(withDesks)];
}

function makeRoute(context: KeyContext, act: "register" | "rotate"): Route {
  const { edge, clock, walletDesk, keyDesk } = context;
  const validate = compileValidator(venueKeyRequestSchema);
  const serialise = compileSerialiser(venueKeyReplySchema);
  return jsonRoute(context, {
    operation: act === "register" ? OPERATIONS.venueKeyRegister : OPERATIONS.venueKeyRotate,
    headers: [],
    sends: true,
    async answer(ask) {
      const { walletIdOrAddress } = checkedBody(validate, ask.body);
      const venue = venueOf(ask);
      const wallet = walletOf(walletDesk, ask, checkedWalletName(walletIdOrAddress));
      const answer = await keyDesk[act](wallet, venue, showsSecret(venue), callOf(ask));
      const reply = { ...keyReply(venue, wallet, answer), timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed: answer.replayed };
    },
  });
}

function revokeRoute(context: KeyContext): Route {
  const { edge, clock, walletDesk, keyDesk } = context;
  const validate = compileValidator(venueKeyRequestSchema);
  const serialise = compileSerialiser(venueKeyRevokeReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venueKeyRevoke,
    headers: [],
    sends: true,
    async answer(ask) {
      const { walletIdOrAddress } = checkedBody(validate, ask.body);
      const venue = venueOf(ask);
      const wallet = walletOf(walletDesk, ask, checkedWalletName(walletIdOrAddress));
      const revoked = await keyDesk.revoke(wallet, venue, callOf(ask));
      return { text: replyText(edge, serialise, { ...revokeReply(venue, revoked), timestamp: clock.wallMs() }) };
    },
  });
}

/** Throws UNSUPPORTED_EXCHANGE: the interface registers keys at these two alone. */
function venueOf({ params }: Ask): RoutableVenue {
  const exchange = params["exchange"] ?? "";
  if (exchange !== WALLET_VENUE && exchange !== NATIVE_VENUE)
    throw new ServiceError("UNSUPPORTED_EXCHANGE", { exchange, supported: [WALLET_VENUE, NATIVE_VENUE] });
  return exchange;
}
