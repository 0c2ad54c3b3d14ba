// Questions that are asked again and again, and answers that overtake each other on their way.

/** Tells which answers count: those that no answer to a later question has overtaken. */
export class Newest {
  #asked = 0;
  #answered = 0;

  /** Notes a question. To be called with its answer: whether that counts; from then on no answer to an earlier one does. */
  ask(): () => boolean {
    this.#asked += 1;
    const number = this.#asked;
    return () => {
      if (number <= this.#answered) return false;
      this.#answered = number;
      return true;
    };
  }

  /** No answer to what was asked so far counts. */
  forget(): void {
    this.#answered = this.#asked;
  }
}
