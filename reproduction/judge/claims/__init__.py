"""The paper's sentences, one file for each chapter that holds the evidence; `audit` holds them to the paper itself."""
