"""What a model computes from the two layers below: schedules, storage, break-even."""
