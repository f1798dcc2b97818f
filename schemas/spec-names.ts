/**
 * Names that the interface spec gives an operation or a twin of it, whether or not this operation needs them: a caller
 * who sends them is understood. Those that would change what is sent are honoured or refused, never ignored.
 */
import { Type } from "@sinclair/typebox";
import { optionalField, words } from "./common.js";

export const walletRef = Type.String({ minLength: 1, maxLength: 128, description: "User id, wallet id or address." });

/** Spec 4.2 to 4.6. Where the request acts for a server wallet, `userId` and `walletIdOrAddress` must name it. */
export const callerNames = {
  userId: optionalField(walletRef),
  walletIdOrAddress: optionalField(walletRef),
  broker: optionalField(Type.Number(), { description: "Of deposits and withdrawals; ignored here." }),
};

const { userId: _, ...otherNames } = callerNames;
/** Beside a `userId` that is required. */
export const otherCallerNames = otherNames;

/** The flag in bodies that close, and in those that open: it never decides which of the two is sent. */
export const closingFlag = {
  reduceOnly: optionalField(Type.Boolean(), { description: "Must not be false: this closes." }),
};

export const openingFlag = {
  reduceOnly: optionalField(Type.Boolean(), { description: "Must not be true: this opens." }),
};

/** Of bodies whose order type decides it. */
export const impliedTimeInForce = {
  timeInForce: optionalField(words(["GTC", "IOC", "FOK"]), {
    description: "Decided by the order type: IOC of MARKET, GTC of all others. Another one is refused.",
  }),
};

/** Of venues that hold one position a symbol. */
export const onlyBothSides = {
  positionSide: optionalField(words(["BOTH"]), { description: "One-way only on this venue." }),
};
