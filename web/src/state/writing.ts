// Who knows whether something would be lost. And what is being written and not saved, wherever one goes in the page: another
// organization, or signing out, would take it away.

interface Holders {
  /** Has it asked whether something would be lost, until the returned function is called. */
  readonly hold: (wouldLose: () => boolean) => () => void;
  /** Whether something would be lost. */
  readonly isHeld: () => boolean;
}

export function holders(): Holders {
  const all = new Set<() => boolean>();
  return {
    hold(wouldLose) {
      all.add(wouldLose);
      return () => { all.delete(wouldLose); };
    },
    isHeld: () => [...all].some((wouldLose) => wouldLose()),
  };
}

export const { hold: holdWriting, isHeld: isWriting } = holders();
