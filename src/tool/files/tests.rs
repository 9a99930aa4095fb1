//! Files through the tools: what is reached, what is not, and what a call costs at most.
