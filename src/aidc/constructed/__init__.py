"""What the experimenter sets: values that no public data hold."""
