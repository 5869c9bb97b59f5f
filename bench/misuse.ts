/** A mistake in the command, to be told without a stack. */
export class Misuse extends Error {}
