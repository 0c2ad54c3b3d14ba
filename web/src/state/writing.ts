// What is being written and not saved, wherever one goes in the page: another organization, or signing out, would take it away.

const writers = new Set<() => boolean>();

/** Has `isWriting` ask whether something that is written would be lost, until the returned function is called. */
export function holdWriting(wouldLose: () => boolean): () => void {
  writers.add(wouldLose);
  return () => { writers.delete(wouldLose); };
}

/** Whether something would be lost. */
export const isWriting = (): boolean => [...writers].some((wouldLose) => wouldLose());
