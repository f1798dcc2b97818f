/** Examples of the OpenAPI document for server wallets. Keys are operation ids. */
import { EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";
import { WALLET_VENUE } from "./venues.js";

const WALLET = {
  userId: "user-42",
  address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  publicKey: "0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75",
  createdAt: 1_790_000_000_412,
  state: "ACTIVE",
  epoch: 1,
  exchanges: [],
};
const WALLET_REPLY = { success: true, ...WALLET, timestamp: EXAMPLE_TIMESTAMP };

const VENUE_KEY = exampleReply({
  apiWalletAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  mainWalletAddress: WALLET.address,
  expiryTimestamp: 1_797_776_000_412,
});

export const WALLET_REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  walletCreate: { userId: "user-42" },
  walletSign: { message: "hello world" },
  venueKeyRegister: { walletIdOrAddress: "user-42" },
  venueKeyRotate: { walletIdOrAddress: "user-42" },
  venueKeyRevoke: { walletIdOrAddress: "user-42" },
};

export const WALLET_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  walletCreate: WALLET_REPLY,
  wallet: WALLET_REPLY,
  walletList: exampleReply({ wallets: [WALLET], nextCursor: null }),
  walletSign: exampleReply({
    signature:
      "0xa461f509887bd19e312c0c58467ce8ff8e300d3c1a90b608a760c5b80318eaf15fe57c96f9175d6cd4daad4663763baa7e78836e067d0163e9a2ccf2ff753f5b1b",
    address: WALLET.address,
    digest: "0xd9eba16ed0ecae432b71fe008c98cc872bb4cc214d3220a36f365326cf807d68",
    kind: "message",
  }),
  venueKeyRegister: VENUE_KEY,
  venueKeyRotate: VENUE_KEY,
  venueKeyRevoke: exampleReply({ exchange: WALLET_VENUE, status: "REVOKED", count: 1 }),
};
