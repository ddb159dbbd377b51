//! One Spark run.
